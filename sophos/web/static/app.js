// What the page does. The record on the server is the only truth: every stream ends, and every
// doubt is settled, by reading it again.

import * as api from "./api.js";
import { Live } from "./live.js";
import { tell } from "./notice.js";
import { Sidebar } from "./sidebar.js";
import { watch } from "./stream.js";
import { messageElement, owedElement, statusElement, welcomeElement } from "./view.js";

const FIRST_WAIT = 500; // milliseconds before the server is asked again; doubled each time
const LONGEST_WAIT = 8000;
const AT_BOTTOM = 40; // pixels that still count as the bottom
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const $ = (id) => document.getElementById(id);
const box = $("message");
const scroller = $("scroller");

let id; // the conversation shown, null for a new one, undefined before the first `open`
let turn = 0; // grows whenever another view is wanted: answers that belong to an older one are dropped
let run = null; // the run that is not over: working, or waiting for a decision
let source = null; // its stream, while it is watched
let resumable = false;
let busy = false; // a request that starts a run is on its way
let attempt = null; // the last one without an answer: sent again, it carries the same key
let shown = null; // status and time of what is shown, to see that another tab has moved it on
let wait = FIRST_WAIT;
let recovering = false;
const drafts = new Map();

let stuck = true;
const live = new Live(
  $("stream"),
  () => (stuck = isAtBottom()),
  () => stuck && toBottom(),
);

const sidebar = new Sidebar($("list"), $("older"), {
  current: () => id,
  found: (rows) => {
    const mine = rows.find((row) => row.id === id);
    const same = mine?.status === shown?.status && mine?.updated_at === shown?.updated;
    if (mine && shown && !same && source === null && !busy) open(id);
  },
  failed: (error) => {
    if (error instanceof api.NoAnswer) recover();
    else say("connection", `${error.code}: ${error.message}`);
  },
});

const isAtBottom = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < AT_BOTTOM;
const toBottom = () => (scroller.scrollTop = scroller.scrollHeight);

function say(place, text) {
  $(place).textContent = text;
  $(place).hidden = !text;
}

function update() {
  // A button that goes away would take the focus with it.
  if (run === null && [$("stop"), $("resume")].includes(document.activeElement)) box.focus();
  $("send").disabled = busy || run !== null;
  $("send").hidden = run !== null;
  $("stop").hidden = run === null;
  $("resume").hidden = run !== null || !resumable;
  $("resume").disabled = busy;
  $("tools").hidden = id === null;
  $("delete").disabled = run !== null;
  $("live").hidden = run === null;
  $("record").setAttribute("aria-busy", String(run !== null));
}

function leave() {
  source?.close();
  source = null;
  turn += 1;
  return turn;
}

async function open(wanted) {
  const mine = leave();
  if (wanted !== id) {
    drafts.set(id, box.value);
    id = wanted;
    box.value = drafts.get(id) ?? "";
    blank();
  }
  if (location.hash.slice(1) !== (id ?? "")) history.pushState(null, "", id ? `#${id}` : "/");
  if (id === null) {
    say("problem", "");
    $("record").replaceChildren(welcomeElement());
    update();
    return;
  }
  try {
    const [view, runs] = await Promise.all([api.read(id), api.runs(id)]);
    if (mine === turn) show(view, runs, mine);
  } catch (error) {
    if (mine === turn) report(error);
  }
}

function blank() {
  run = null;
  resumable = false;
  shown = null;
  live.clear();
  $("record").replaceChildren();
  $("title").textContent = id ? "" : "New conversation";
  $("status").replaceChildren();
  document.title = "Sophos";
  say("problem", "");
  sidebar.mark();
}

function show(view, runs, mine) {
  const newest = runs.at(-1);
  const bottom = isAtBottom() || shown === null;
  const active = view.active_run;
  // What the active run has recorded so far is also in its stream, told from the start.
  const settled = view.messages.filter((message) => message.run !== active || message.role === "user");
  $("record").replaceChildren(...settled.map(messageElement), ...owed(view, runs).map(owedElement));
  $("title").textContent = view.conversation.title;
  document.title = `${view.conversation.title} – Sophos`;
  $("export-markdown").href = api.exportPath(id, "markdown");
  $("export-jsonl").href = api.exportPath(id, "jsonl");
  live.clear();
  run = active;
  resumable = view.resumable;
  shown = { status: newest?.status, updated: view.conversation.updated_at };
  $("status").replaceChildren(...(newest ? [statusElement(newest.status)] : []));
  say("problem", outcomeText(newest));
  if (active === null) wait = FIRST_WAIT;
  // A run that waits says nothing more: its decision is a run of its own.
  else if (newest?.status !== "waiting") follow(active, newest, settled, mine);
  update();
  if (bottom) toBottom();
}

// Accepted by a run that ended before its message reached the thread: the next run brings it there.
function owed(view, runs) {
  const brought = new Set(view.messages.filter(({ role }) => role === "user").map(({ run }) => run));
  return runs.filter(({ id, kind }) => kind === "message" && id !== view.active_run && !brought.has(id));
}

function outcomeText(newest) {
  if (newest?.status === "failed" && newest.error) return `${newest.error.code}: ${newest.error.message}`;
  if (["interrupted", "cancelled"].includes(newest?.status) && resumable) {
    return (
      `The run was ${newest.status} with work left. Resume goes on after the last step on record; ` +
      "what was only streamed is not kept."
    );
  }
  if (newest?.status === "waiting") return "This run waits for a decision on a tool call.";
  return "";
}

function follow(active, newest, settled, mine) {
  // Accepted, and perhaps not in the record yet: what was typed is never off the screen.
  if (newest?.input && newest.kind === "message" && !settled.some((message) => message.run === active)) {
    live.line("sent", newest.input);
  }
  const current = (then) => (data) => mine === turn && then(data);
  source = watch(id, active, {
    token: current((token) => heard(() => live.token(token))),
    trace: current((trace) => heard(() => live.trace(trace))),
    gap: current(() => recover("Something was missed. Reading the record again …")),
    over: current((outcome) => {
      $("announcer").textContent = `Run ${outcome}.`;
      open(id);
      sidebar.refresh();
    }),
    connected: current(() => say("connection", "")),
    reconnecting: current(() => say("connection", "The connection was lost. Trying again …")),
    closed: current(() => recover()),
  });
}

function heard(then) {
  wait = FIRST_WAIT;
  then();
}

// The server is gone, or has nothing to stream: wait until it lives, then read the record again.
// Each time takes longer, until something is heard: a page must not ask in a tight loop.
async function recover(why = "The server does not answer. Trying again …") {
  leave();
  if (recovering) return;
  recovering = true;
  do {
    say("connection", why);
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LONGEST_WAIT);
  } while (!(await api.isAlive()));
  recovering = false;
  say("connection", "");
  sidebar.refresh();
  tell($("notice"));
  open(id);
}

function report(error) {
  if (error instanceof api.NoAnswer) recover();
  say("problem", error.code ? `${error.code}: ${error.message}` : String(error));
  update();
}

async function start(text) {
  if (busy || run !== null || (text !== null && !text.trim())) return;
  busy = true;
  update();
  const [asked, mine] = [id, turn];
  if (attempt?.text !== text || attempt.id !== asked) attempt = { text, id: asked, key: api.newKey() };
  try {
    const { key } = attempt;
    const started = await (text === null ? api.resume(asked, key) : api.send(text, asked, key));
    attempt = null;
    drafts.delete(asked);
    if (mine === turn) {
      if (box.value === text) box.value = "";
      say("problem", "");
      await open(started.conversation);
    }
    sidebar.refresh();
  } catch (error) {
    if (!(error instanceof api.NoAnswer)) attempt = null;
    if (mine === turn) {
      // Another tab may have started the run that is in the way: show it, and why this one is not.
      if (error.status === 409) await open(asked);
      report(error);
    }
  } finally {
    busy = false;
    update();
  }
}

async function stop() {
  const [asked, mine] = [run, turn];
  $("stop").disabled = true;
  try {
    await api.cancel(asked);
    // A run that only waited has no stream to tell its end.
    if (mine === turn && source === null) open(id);
  } catch (error) {
    // Not active: it ended first, and the stream tells how.
    if (mine === turn && error.code !== "RUN_NOT_ACTIVE") report(error);
  } finally {
    $("stop").disabled = false;
  }
}

async function remove() {
  const asked = id;
  $("confirm").close();
  try {
    await api.remove(asked);
    drafts.delete(asked);
    if (asked === id) await open(null);
    sidebar.refresh();
  } catch (error) {
    report(error);
  }
}

const wantedByAddress = () => (UUID.test(location.hash.slice(1)) ? location.hash.slice(1) : null);

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  start(box.value);
});
box.addEventListener("keydown", (event) => {
  // isComposing: this Enter chooses a word of an input method.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  start(box.value);
});
$("resume").addEventListener("click", () => start(null));
$("stop").addEventListener("click", stop);
$("delete").addEventListener("click", () => $("confirm").showModal());
$("confirm-no").addEventListener("click", () => $("confirm").close());
$("confirm-yes").addEventListener("click", remove);
$("new").addEventListener("click", () => {
  open(null);
  box.focus();
});
addEventListener("popstate", () => open(wantedByAddress()));

box.focus();
sidebar.refresh();
open(wantedByAddress());
tell($("notice"));
