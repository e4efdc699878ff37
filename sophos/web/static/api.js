// The routes this page uses, relative to the page: it may stand under any path. Every failure is a
// Refusal (the server said no, and what to do) or a NoAnswer (there was no server to say anything).

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

async function ask(method, path, body, key) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  let response;
  let answer = null;
  try {
    const signal = AbortSignal.timeout(ANSWER_WITHIN);
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body), signal });
    if (response.status !== NO_CONTENT) answer = await response.json();
  } catch {
    throw new NoAnswer();
  }
  if (response.ok) return answer;
  if (response.status === UNAUTHORISED) signIn();
  throw new Refusal(response.status, answer.error ?? { code: "UNKNOWN", message: "No reason given." });
}

const PLACE = "sophos place";

// Signing in leads back to the page alone: which conversation was wanted is kept meanwhile.
function signIn() {
  sessionStorage.setItem(PLACE, location.hash.slice(1));
  location.assign("sign-in");
}

export function placeBeforeSigningIn() {
  const place = sessionStorage.getItem(PLACE) ?? "";
  sessionStorage.removeItem(PLACE);
  return place;
}

const conversation = (id) => `api/conversations/${id}`;

export const list = (before) =>
  ask("GET", "api/conversations" + (before ? `?before=${encodeURIComponent(before)}` : ""));
export const read = (id) => ask("GET", `${conversation(id)}?render=html`);
export const runs = async (id) => (await ask("GET", `${conversation(id)}/runs`)).runs;
export const checkpoints = async (id) =>
  (await ask("GET", `${conversation(id)}/checkpoints`)).checkpoints;
export const remove = (id) => ask("DELETE", conversation(id));
export const cancel = (run) => ask("POST", `api/runs/${run}/cancel`);
export const resume = (id, key) => ask("POST", "api/chat", { resume: true, conversation: id }, key);
export const send = (message, id, key) =>
  ask("POST", "api/chat", id === null ? { message } : { message, conversation: id }, key);
export const exportPath = (id, format) => `${conversation(id)}/export?format=${format}`;
export const streamPath = (id, run, after) =>
  `api/chat?conversation=${id}&run=${run}` + (after ? `&last_event_id=${run}:${after}` : "");

// The checks are the same in an answer that says "not ready"; none if there is no answer.
export async function checks() {
  try {
    return (await (await fetch("api/readyz")).json()).checks ?? {};
  } catch {
    return {};
  }
}

// The boot id of the process that answers now; null if none does.
export async function bootId() {
  try {
    return (await ask("GET", "api/healthz")).boot_id;
  } catch {
    return null;
  }
}

// crypto.randomUUID exists on secure pages only, and a page may be opened over plain HTTP.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
