// The page put together: what each part says to the others, the address, the keyboard.

import * as api from "./api.js";
import { Actions } from "./actions.js";
import { comparisonElement, compare, summary } from "./against.js";
import { askedBy } from "./confirm.js";
import { Connection } from "./connection.js";
import { place, statusElement } from "./elements.js";
import { Inspector } from "./inspector.js";
import { Live } from "./live.js";
import { noticeText } from "./notice.js";
import { isWide, offerPart, offerThemes } from "./preferences.js";
import { Record, welcomeElement } from "./record.js";
import { RunStrip, stateText } from "./runs.js";
import { offerSignOut, placeBeforeSigningIn } from "./session.js";
import { Shown } from "./shown.js";
import { Sidebar } from "./sidebar.js";
import { Trace } from "./trace.js";

const AT_BOTTOM = 40; // pixels that still count as the bottom
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const $ = (id) => document.getElementById(id);
const box = $("message");
const scroller = $("scroller");
const drafts = new Map();
const confirmed = askedBy($("confirm"), $("new"));
const showList = offerPart("list", $("list-toggle"), { byDefault: false, kept: false });
let checks = {};
let stuck = true;

const isAtBottom = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < AT_BOTTOM;
const toBottom = () => (scroller.scrollTop = scroller.scrollHeight);

function say(place, text) {
  if ($(place).textContent !== text) $(place).textContent = text;
  $(place).hidden = !text;
}

const record = new Record($("record"));
const strip = new RunStrip($("runs"), $("run-detail"));
const trace = new Trace($("trace"));
const inspector = new Inspector($("identities"), $("connection-facts"));
const live = new Live($("live"), $("stream"), () => {
  if (stuck) toBottom();
  tellConnection();
});

const connection = new Connection({
  changed: () => {
    const lost = connection.recovering;
    document.body.classList.toggle("lost", lost);
    $("connection").hidden = !lost;
    say("connection-text", lost ? `${connection.why} You see what was read last.` : "");
    $("connection-tries").textContent = connection.state.replace("reconnecting (", "Trying again (");
    tellConnection();
    update();
  },
  back: () => {
    sidebar.refresh();
    look();
    shown.open(shown.id);
  },
});

const shown = new Shown(connection, {
  blank,
  read: (view, heard) => {
    const bottom = isAtBottom() || $("record").childElementCount === 0;
    record.show(view, heard && !heard.untold ? view.active_run : null);
    if (heard) live.follow(heard);
    else live.clear();
    $("title").textContent = view.conversation.title;
    document.title = `${view.conversation.title} – Sophos`;
    $("export-markdown").href = api.exportPath(shown.id, "markdown");
    $("export-jsonl").href = api.exportPath(shown.id, "jsonl");
    actions.settle(view);
    say("problem", actions.remedy);
    panels();
    update();
    if (bottom) toBottom();
  },
  heard: () => live.changed(),
  traced: ({ event, name }) => {
    if (event === "enter") record.reached();
    if (event === "call") $("announcer").textContent = `Calls ${name}.`;
    panels();
  },
  checkpoints: panels,
  ended: (status) => {
    $("announcer").textContent = `Run ${status}.`;
    sidebar.changed();
  },
  failed,
});

const actions = new Actions(shown, {
  changed: update,
  accepted: (asked, text) => {
    drafts.delete(asked);
    if (asked === shown.id && box.value === text) box.value = "";
    say("problem", "");
  },
  failed,
  done: () => sidebar.changed(),
});

const sidebar = new Sidebar($("list"), $("older"), () => shown.id, {
  found: (rows, whole) => {
    const mine = rows.find((row) => row.id === shown.id);
    const oldest = whole ? "" : rows.at(-1).updated_at;
    const gone = !mine && shown.view?.conversation.updated_at > oldest; // another tab deleted it
    const newest = shown.view?.runs.at(-1);
    const same = mine?.status === newest?.status && mine?.updated_at === shown.view?.conversation.updated_at;
    const idle = shown.source === null && !actions.busy && !connection.recovering;
    if (idle && (gone || (mine && newest && !same))) shown.open(shown.id);
  },
  failed,
  remove: (row) => confirmed(row.title || "Untitled", () => actions.remove(row.id)),
});

function tellConnection() {
  const { state, bootId, before } = connection;
  inspector.showConnection({ state, bootId, before, event: shown.heard, checks });
}

async function look() {
  checks = await api.checks();
  say("notice", noticeText(checks));
  tellConnection();
}

function blank(before) {
  if (before !== undefined) drafts.set(before, box.value);
  box.value = drafts.get(shown.id) ?? "";
  record.clear(...(shown.id === null ? [welcomeElement()] : []));
  strip.clear();
  trace.clear();
  live.clear();
  $("title").textContent = shown.id ? "Conversation" : "New conversation"; // until it is read
  document.title = "Sophos";
  say("problem", actions.remedy);
  if (address() !== shown.id) history.pushState(null, "", shown.id ? `#${shown.id}` : location.pathname);
  if (!isWide() && $("sidebar").contains(document.activeElement)) box.focus();
  showList(false);
  panels();
  update();
  sidebar.draw();
}

function panels() {
  const { view, heard } = shown;
  inspector.showIdentities(view);
  tellConnection();
  if (view === null) return;
  strip.show(view, connection.bootId);
  trace.show(view, heard);
}

function update() {
  const { view, run } = shown;
  const running = run !== null;
  // A button that goes away would take the focus with it.
  const going = [!running && $("stop"), !view?.resumable && $("resume")];
  if (going.includes(document.activeElement)) box.focus();
  $("send").disabled = actions.busy || running;
  $("stop").hidden = !running;
  $("stop").disabled = connection.recovering;
  $("resume").hidden = !view?.resumable;
  $("strip").hidden = view === null;
  say("state", view ? stateText(view, connection.recovering) : "");
  place($("status"), view?.runs.length ? [statusElement(view.runs.at(-1).status)] : []);
  compareIfAsked();
}

function compareIfAsked() {
  const { view, heard, run } = shown;
  const open = $("against-toggle").getAttribute("aria-expanded") === "true";
  $("after").hidden = view === null || run !== null;
  $("against").hidden = !open;
  if ($("after").hidden) return;
  $("against-summary").textContent = heard ? summary(compare(heard, view.messages)) : "nothing was heard";
  $("against").replaceChildren(...(open ? [comparisonElement(heard, view)] : []));
}

function failed(error) {
  if (error instanceof api.NoAnswer) connection.lost();
  const refused = `${error.code ?? "ERROR"}: ${error.message}`;
  say("problem", error instanceof api.NoAnswer ? actions.remedy : refused);
  update();
}

function putAway(id) {
  (id === "panel" ? showPanel : showList)(false);
  $(id === "panel" ? "panel-toggle" : "list-toggle").focus();
}

function address(wanted = location.hash.slice(1)) {
  return UUID.test(wanted) ? wanted : null;
}

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  actions.start(box.value);
});
box.addEventListener("keydown", (event) => {
  // isComposing: this Enter chooses a word of an input method.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  actions.start(box.value);
});
$("resume").addEventListener("click", () => actions.start(null));
$("stop").addEventListener("click", () => actions.stop());
$("retry").addEventListener("click", () => connection.retry());
$("new").addEventListener("click", () => {
  shown.open(null);
  box.focus();
});
$("against-toggle").addEventListener("click", ({ currentTarget: toggle }) => {
  const open = toggle.getAttribute("aria-expanded") !== "true";
  toggle.setAttribute("aria-expanded", String(open));
  compareIfAsked();
  if (open) $("after").scrollIntoView({ block: "nearest" });
});
scroller.addEventListener("scroll", () => (stuck = isAtBottom()), { passive: true });
// A notice or a longer strip takes room from it: who reads the end goes on reading the end.
new ResizeObserver(() => stuck && toBottom()).observe(scroller);
addEventListener("popstate", () => shown.open(address()));

offerThemes($("theme"));
offerSignOut($("sign-out"), { end: api.signOut, failed });
const showPanel = offerPart("panel", $("panel-toggle"), { byDefault: isWide(), kept: true });
// Where there is little room they lie over the conversation, and over the buttons that showed them.
for (const close of document.querySelectorAll(".close")) {
  close.addEventListener("click", () => putAway(close.getAttribute("aria-controls")));
}
for (const id of ["sidebar", "panel"]) {
  $(id).addEventListener("keydown", ({ key }) => key === "Escape" && !isWide() && putAway(id));
}
box.focus();
connection.identify();
sidebar.refresh();
shown.open(address() ?? address(placeBeforeSigningIn()));
look();
performance.mark("interactive"); // for whoever measures: tests/benchmarks/measure_page.py
