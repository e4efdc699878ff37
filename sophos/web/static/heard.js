// What this page heard of one run's stream, folded in order. It dies with the page; the server's own
// copy dies with the run. Whether it was kept is a question to the record (against.js).

const CONVERSATIONS = 20; // whose last stream is remembered

export class Heard {
  constructor(run) {
    this.run = run;
    this.last = 0; // the number of the last event
    this.items = []; // texts and traces, in the order they came
    this.untold = false; // there was a stream to watch, and nothing can be had of it
  }

  // "next", and counted; "heard" already, to be dropped, so that nothing doubles; or a "hole" before it.
  // An outcome that is told from the runs table alone has no number.
  accept(number) {
    if (number !== null && number <= this.last) return "heard";
    if (number !== null && number > this.last + 1) return "hole";
    this.last = number ?? this.last;
    return "next";
  }

  token({ text, kind, step, message_id: message }) {
    const last = this.items.at(-1);
    if (last?.message === message && last.kind === kind) last.text += text;
    else this.items.push({ kind, message, step, text });
  }

  trace(trace) {
    this.items.push({ kind: "trace", trace });
  }

  get traces() {
    return this.items.filter(({ kind }) => kind === "trace").map(({ trace }) => trace);
  }
}

// The newest stream of each of the conversations seen last.
export class Memory {
  constructor() {
    this.streams = new Map();
  }

  of(conversation) {
    return this.streams.get(conversation) ?? null;
  }

  // The stream of this run: the one heard so far, or a new one in place of an older run's.
  begin(conversation, run) {
    let heard = this.of(conversation);
    if (heard?.run !== run) heard = new Heard(run);
    this.streams.delete(conversation);
    this.streams.set(conversation, heard);
    if (this.streams.size > CONVERSATIONS) this.streams.delete(this.streams.keys().next().value);
    return heard;
  }

  forget(conversation) {
    this.streams.delete(conversation);
  }
}
