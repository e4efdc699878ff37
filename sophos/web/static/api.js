// The routes this page uses. Every failure is a Refusal (the server said no, and what to do)
// or a NoAnswer (there was no server to say anything).

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

async function ask(method, path, body, key) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== undefined) headers["Idempotency-Key"] = key;
  let response;
  let answer = null;
  try {
    response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
    if (response.status !== 204) answer = await response.json();
  } catch {
    throw new NoAnswer();
  }
  if (response.ok) return answer;
  throw new Refusal(response.status, answer.error ?? { code: "UNKNOWN", message: "No reason given." });
}

const conversation = (id) => `/api/conversations/${id}`;

export const list = (before) =>
  ask("GET", "/api/conversations" + (before ? `?before=${encodeURIComponent(before)}` : ""));
export const read = (id) => ask("GET", `${conversation(id)}?render=html`);
export const runs = async (id) => (await ask("GET", `${conversation(id)}/runs`)).runs;
export const remove = (id) => ask("DELETE", conversation(id));
export const cancel = (run) => ask("POST", `/api/runs/${run}/cancel`);
export const resume = (id, key) => ask("POST", "/api/chat", { resume: true, conversation: id }, key);
export const send = (message, id, key) =>
  ask("POST", "/api/chat", id === null ? { message } : { message, conversation: id }, key);
export const exportPath = (id, format) => `${conversation(id)}/export?format=${format}`;

// The checks are the same in an answer that says "not ready".
export async function checks() {
  try {
    return (await (await fetch("/api/readyz")).json()).checks ?? {};
  } catch {
    return {};
  }
}

export async function isAlive() {
  try {
    await ask("GET", "/api/healthz");
    return true;
  } catch {
    return false;
  }
}

// crypto.randomUUID exists on secure pages only, and a page may be opened over plain HTTP.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
