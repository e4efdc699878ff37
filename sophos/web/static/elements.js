// The small parts every panel is made of. Text goes in as text; the one exception is `rendered`,
// which takes HTML that the server made from Markdown and sanitised.

const policy = globalThis.trustedTypes?.createPolicy("sophos-record", { createHTML: (html) => html });

export const SIGNS = {
  running: "●",
  waiting: "‖",
  completed: "✓",
  failed: "✗",
  cancelled: "■",
  interrupted: "△",
};

export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

export function folded(className, summary, ...content) {
  return element("details", className, element("summary", "", ...[summary].flat()), ...content);
}

export function button(className, label, onClick) {
  const made = element("button", className, label);
  made.type = "button";
  made.addEventListener("click", onClick);
  return made;
}

export function code(text) {
  return element("pre", "", text);
}

export function rendered(html) {
  const body = element("div", "body");
  body.innerHTML = policy?.createHTML(html) ?? html;
  for (const block of body.querySelectorAll("pre:has(> code)")) {
    const frame = element("div", "code");
    block.replaceWith(frame);
    frame.append(block, copyButton(block));
  }
  for (const table of body.querySelectorAll("table")) {
    // What scrolls sideways must be within reach of the keyboard.
    const frame = element("div", "wide");
    frame.tabIndex = 0;
    frame.setAttribute("role", "region");
    frame.setAttribute("aria-label", "Table");
    table.replaceWith(frame);
    frame.append(table);
  }
  return body;
}

function copyButton(block) {
  const made = button("copy", "Copy", async () => {
    made.textContent = (await copied(block.textContent, block)) ? "Copied" : "Selected: press Ctrl+C";
  });
  made.setAttribute("aria-label", "Copy the code");
  made.setAttribute("aria-live", "polite");
  made.addEventListener("blur", () => (made.textContent = "Copy"));
  return made;
}

// Only a secure page has the clipboard; on another the text is selected, for the person to copy.
async function copied(text, node) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(node);
    return false;
  }
}

// While there is no server to ask, this is only what it said last. Shown by the style sheet.
export const staleElement = () => element("span", "stale", " when last heard of");

export function statusElement(status) {
  const sign = element("span", "sign", SIGNS[status] ?? "?");
  sign.setAttribute("aria-hidden", "true");
  const stale = status === "running" ? [staleElement()] : [];
  const made = element("span", "status", sign, ` ${status}`, ...stale);
  made.dataset.status = status;
  return made;
}

const SHORT = 8; // characters that tell one id from another
const SHORT_CHECKPOINT = 13; // checkpoint ids begin with a time: those of half a minute begin alike

// The beginning of an id; all of it on demand. `label` says whose it is.
export function idElement(id, label) {
  const short = id.slice(0, label.startsWith("checkpoint") ? SHORT_CHECKPOINT : SHORT);
  const made = button("id", short, async () => {
    made.textContent = (await copied(id, made)) ? "copied" : id;
  });
  made.title = `${id}\nCopy the ${label}`;
  made.setAttribute("aria-label", `Copy the ${label} ${id}`);
  made.addEventListener("blur", () => (made.textContent = short));
  return made;
}

export function timeElement(iso, precision = "minutes") {
  const moment = new Date(iso);
  const today = moment.toDateString() === new Date().toDateString();
  const second = precision === "seconds" ? "2-digit" : undefined;
  const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second });
  const day = moment.toLocaleDateString([], { day: "numeric", month: "short" });
  const made = element("time", "", today ? time : `${day} ${time}`);
  made.dateTime = iso;
  made.title = moment.toLocaleString();
  return made;
}

export function duration(from, to) {
  const seconds = Math.max(0, new Date(to) - new Date(from)) / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// Children in this order, moving none that stands right: what is focused, open or selected stays so.
export function place(parent, nodes) {
  let at = parent.firstChild;
  for (const node of nodes) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  while (at) {
    const following = at.nextSibling;
    at.remove();
    at = following;
  }
}

// Elements by key, made again only when what they show has changed; then what was open or focused in
// the old one is so in the new one.
export class Kept {
  constructor() {
    this.made = new Map();
    this.next = new Map();
    this.focus = null;
  }

  get(key, facts, make) {
    const signature = JSON.stringify(facts);
    const before = this.made.get(key);
    const entry = before?.signature === signature ? before : { signature, node: make() };
    if (before && entry !== before) this.carry(before.node, entry.node);
    this.next.set(key, entry);
    return entry.node;
  }

  carry(before, after) {
    const folds = (node) => [node, ...node.querySelectorAll("details")].filter(({ localName }) => localName === "details");
    const old = folds(before);
    folds(after).forEach((fold, n) => (fold.open = old[n]?.open ?? fold.open));
    const stops = (node) => [...node.querySelectorAll("a, button, summary")];
    const focused = stops(before).indexOf(document.activeElement);
    if (focused >= 0) this.focus = stops(after)[focused] ?? null;
  }

  // Once all are in their place. Whatever was not asked for since the last time is forgotten.
  settle() {
    this.made = this.next;
    this.next = new Map();
    this.focus?.focus({ preventScroll: true });
    this.focus = null;
  }
}
