// What a run says while it works, apart from the record. Events are kept until the next frame and
// then written in one go: twenty thousand tokens are a few hundred writes, and a hidden tab waits.

const BLOCK_LIMIT = 8000; // characters; a longer text goes on in a new block, laid out by itself
const SHOWN_LIMIT = 2000; // characters of a tool's result

export class Live {
  constructor(element, beforeWrite, afterWrite) {
    this.element = element;
    this.beforeWrite = beforeWrite;
    this.afterWrite = afterWrite;
    this.clear();
  }

  clear() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.waiting = [];
    this.last = null; // the text block that tokens go to now
    this.element.replaceChildren();
  }

  token(token) {
    this.waiting.push({ key: `${token.message_id} ${token.kind}`, kind: token.kind, text: token.text });
    this.schedule();
  }

  trace(trace) {
    this.waiting.push({ kind: "trace", event: trace.event, text: traceText(trace) });
    this.schedule();
  }

  line(kind, text) {
    this.waiting.push({ kind, text });
    this.schedule();
  }

  schedule() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.write());
  }

  write() {
    this.frame = 0;
    const events = this.waiting;
    this.waiting = [];
    this.beforeWrite();
    for (let at = 0; at < events.length; ) {
      const { key, kind, event } = events[at];
      let text = events[at++].text;
      while (key && at < events.length && events[at].key === key) text += events[at++].text;
      if (key) this.append(key, kind, text);
      else this.block(kind, text, event);
    }
    this.afterWrite();
  }

  append(key, kind, text) {
    if (this.last?.key !== key) this.last = { key, node: this.block(kind, "") };
    const node = this.last.node;
    const lineEnd = node.length > BLOCK_LIMIT ? text.indexOf("\n") : -1;
    if (lineEnd < 0) {
      node.appendData(text);
      return;
    }
    node.appendData(text.slice(0, lineEnd));
    const going = this.block(kind, text.slice(lineEnd + 1));
    going.parentNode.classList.add("continued");
    this.last = { key, node: going };
  }

  block(kind, text, event) {
    const block = document.createElement("div");
    block.className = kind;
    if (event) block.dataset.event = event;
    const node = document.createTextNode(text);
    block.append(node);
    this.element.append(block);
    this.last = null;
    return node;
  }
}

function traceText({ step, node, name, event, data }) {
  switch (event) {
    case "call":
      return `step ${step}  call ${name} ${JSON.stringify(data.args ?? {})}`;
    case "result":
      return `step ${step}  result of ${name}, ${data.status}: ${shortened(data.text)}`;
    case "note":
      return `step ${step}  note: ${data.text}`;
    case "resume":
      return `step ${step}  resume at ${node}: what was streamed for this step before is superseded`;
    default:
      return `step ${step}  ${event} ${node}`;
  }
}

function shortened(text) {
  const whole = typeof text === "string" ? text : JSON.stringify(text ?? "");
  return whole.length > SHOWN_LIMIT ? `${whole.slice(0, SHOWN_LIMIT)} …` : whole;
}
