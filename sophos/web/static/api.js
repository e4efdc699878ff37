// The routes this page uses, relative to the page: it may stand under any path. Every failure is a
// Refusal (the server said no, and what to do) or a NoAnswer (there was no server to say anything).

import { letIn, signIn } from "./session.js";

export class Refusal extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
  }
}

export class NoAnswer extends Error {
  constructor() {
    super("The server does not answer.");
    this.code = "NO_ANSWER";
  }
}

const ANSWER_WITHIN = 30_000; // milliseconds; a frozen server takes a request and never answers
const UNAUTHORISED = 401;
const NO_CONTENT = 204;
const REDIRECT = "opaqueredirect"; // all that a script is told of one

// The response and its JSON, whatever it says.
async function answered(method, path, options) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), ANSWER_WITHIN);
  try {
    const response = await fetch(path, { method, signal: limit.signal, ...options });
    const empty = response.status === NO_CONTENT || response.type === REDIRECT;
    return { response, answer: empty ? null : await response.json() };
  } catch {
    throw new NoAnswer();
  } finally {
    clearTimeout(timer);
  }
}

async function ask(method, path, body, key) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  const sent = { headers, body: body && JSON.stringify(body) };
  const { response, answer } = await answered(method, path, sent);
  if (response.status === UNAUTHORISED) signIn();
  if (!response.ok) throw refusal(response, answer);
  letIn();
  return answer;
}

const refusal = ({ status }, answer) =>
  new Refusal(status, answer?.error ?? { code: "UNKNOWN", message: "No reason given." });

const conversation = (id) => `api/conversations/${id}`;

export const list = (before) =>
  ask("GET", "api/conversations" + (before ? `?before=${encodeURIComponent(before)}` : ""));
export const read = (id) => ask("GET", `${conversation(id)}?render=html`);
export const runs = async (id) => (await ask("GET", `${conversation(id)}/runs`)).runs;
export const checkpoints = async (id, since) =>
  (await ask("GET", `${conversation(id)}/checkpoints` + (since ? `?since=${since}` : ""))).checkpoints;
export const remove = (id) => ask("DELETE", conversation(id));
export const cancel = (run) => ask("POST", `api/runs/${run}/cancel`);
export const resume = (id, key) => ask("POST", "api/chat", { resume: true, conversation: id }, key);
export const send = (message, id, key) =>
  ask("POST", "api/chat", id === null ? { message } : { message, conversation: id }, key);
export const exportPath = (id, format) => `${conversation(id)}/export?format=${format}`;
export const streamPath = (id, run, after) =>
  `api/chat?conversation=${id}&run=${run}` + (after ? `&last_event_id=${run}:${after}` : "");

export async function signOut() {
  const { response, answer } = await answered("POST", "sign-out", { redirect: "manual" });
  if (response.type !== REDIRECT) throw refusal(response, answer);
}

// The checks are the same in an answer that says "not ready"; none if there is no answer.
export async function checks() {
  try {
    return (await answered("GET", "api/readyz")).answer.checks ?? {};
  } catch {
    return {};
  }
}

// The boot id of the process that answers now; null if none does.
export async function bootId() {
  try {
    return (await answered("GET", "api/healthz")).answer.boot_id ?? null;
  } catch {
    return null;
  }
}

// crypto.randomUUID exists on secure pages only, and a page may be opened over plain HTTP.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
