// What a run says while it works, apart from the record. What was heard since is written once a
// frame: twenty thousand tokens are a few hundred writes, and a hidden tab waits.

import { code, element } from "./elements.js";

const BLOCK_LIMIT = 8000; // characters; a longer text goes on in a new block, laid out by itself

export class Live {
  // `afterWrite` comes after each change of the page.
  constructor(panel, stream, afterWrite) {
    Object.assign(this, { panel, stream, afterWrite });
    this.unfolded = false; // whether reasoning is, once a person has said so
    this.clear();
  }

  clear() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.heard = null;
    this.item = 0; // the first one that is not written whole
    this.written = 0; // characters of it that are
    this.node = null; // the text that goes on
    this.size = null; // the count beside a folded reasoning
    this.stream.replaceChildren();
    this.panel.hidden = true;
  }

  // Show this stream from here on: nothing, if it is shown already.
  follow(heard) {
    this.panel.hidden = false;
    if (this.heard === heard) return;
    this.clear();
    this.panel.hidden = false;
    this.heard = heard;
    this.changed();
  }

  changed() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.write());
  }

  write() {
    this.frame = 0;
    const { items } = this.heard;
    while (this.item < items.length) {
      const item = items[this.item];
      if (item.kind === "trace") this.stream.append(traceElement(item.trace));
      else this.append(item);
      if (item.kind !== "trace" && this.item === items.length - 1) break; // more of it may come
      this.item += 1;
      this.written = 0;
      this.node = null;
    }
    this.afterWrite();
  }

  append({ kind, step, text }) {
    if (this.node === null) this.begin(kind, step);
    const more = text.slice(this.written);
    this.written = text.length;
    const lineEnd = this.node.length > BLOCK_LIMIT ? more.indexOf("\n") : -1;
    this.node.appendData(lineEnd < 0 ? more : more.slice(0, lineEnd));
    if (lineEnd >= 0) {
      const going = element("div", "text continued", more.slice(lineEnd + 1));
      this.node.parentNode.after(going);
      this.node = going.firstChild ?? going.appendChild(document.createTextNode(""));
    }
    if (this.size) this.size.textContent = `${text.length.toLocaleString("en")} characters`;
  }

  begin(kind, step) {
    this.node = document.createTextNode("");
    this.size = null;
    const text = element("div", "text", this.node);
    if (kind === "answer") {
      this.stream.append(element("div", "answer", text));
      return;
    }
    this.size = element("small", "", "");
    const title = element("summary", "", "Reasoning ", mark("streamed, not on record"), " ", this.size);
    const fold = element("details", "reasoning", title, text);
    fold.dataset.step = step;
    fold.open = this.unfolded;
    title.addEventListener("click", () => (this.unfolded = !fold.open));
    this.stream.append(fold);
  }
}

export const mark = (text) => element("span", "mark", text);

function traceElement({ step, node, name, event, data }) {
  const line = (text, ...more) => {
    const made = element("div", "trace", element("span", "step", `step ${step}`), ` ${text}`, ...more);
    made.dataset.event = event;
    return made;
  };
  const fold = (text, content) => {
    const summary = element("summary", "", element("span", "step", `step ${step}`), ` ${text}`);
    const made = element("details", "trace", summary, code(content));
    made.dataset.event = event;
    return made;
  };
  switch (event) {
    case "enter":
      return line(`enter ${node}`);
    case "leave":
      return line(`leave ${node}: `, mark("on record"));
    case "call":
      return fold(`call ${name}`, JSON.stringify(data.args ?? {}, null, 2));
    case "result":
      return fold(`result of ${name}: ${data.status}`, resultText(data));
    case "resume":
      return line("resume: what was streamed for this step before is superseded");
    default:
      return line(`note: ${data.text}`);
  }
}

// A trace carries the beginning of a result; the record has all of it.
export function resultText({ text, characters }) {
  const shown = typeof text === "string" ? text : JSON.stringify(text ?? "");
  return characters > shown.length ? `${shown} … (${characters.toLocaleString("en")} characters)` : shown;
}
