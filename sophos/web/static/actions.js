// What a person may do: start a run, go on with one, stop one, delete a conversation. Each request is
// made once, however often its button is pressed.

import * as api from "./api.js";

export class Actions {
  // `on`: changed(), accepted(text), failed(error), done().
  constructor(shown, on) {
    Object.assign(this, { shown, on });
    this.busy = false; // a request that starts a run is on its way
    this.attempt = null; // the last one without an answer: sent again, it carries the same key
  }

  // What to do about it, in the conversation it was made in; empty if all were answered.
  get remedy() {
    const { attempt, shown } = this;
    if (!attempt?.unanswered || attempt.id !== shown.id) return "";
    return attempt.text === null
      ? "NO_ANSWER: The server may or may not have started a run. Resume again: it starts one only once."
      : "NO_ANSWER: The server may or may not have your message. Send it again: it is taken only once.";
  }

  // The record is read: it may tell that the attempt without an answer was taken.
  settle({ runs }) {
    const { attempt, shown } = this;
    if (!attempt?.unanswered || attempt.id !== shown.id) return;
    if (!runs.slice(attempt.runs).some(({ input }) => input === attempt.text)) return;
    this.attempt = null;
    this.on.accepted(attempt.id, attempt.text);
  }

  // `text` is null for a resume.
  async start(text) {
    const { shown } = this;
    if (this.busy || shown.run !== null || (text !== null && !text.trim())) return;
    if (shown.id !== null && shown.view === null) return; // not read yet: it may have a run
    this.busy = true;
    this.on.changed();
    const [asked, mine] = [shown.id, shown.turn];
    if (this.attempt?.text !== text || this.attempt.id !== asked) {
      const runs = shown.view?.runs.length ?? 0;
      this.attempt = { text, id: asked, runs, key: api.newKey(), unanswered: false };
    }
    try {
      const { key } = this.attempt;
      const started = await (text === null ? api.resume(asked, key) : api.send(text, asked, key));
      this.attempt = null;
      this.on.accepted(asked, text);
      if (mine === shown.turn) await shown.open(started.conversation);
    } catch (error) {
      if (error instanceof api.NoAnswer) this.attempt.unanswered = true;
      else this.attempt = null;
      if (mine === shown.turn) {
        // Another tab may have started the run that is in the way: show it, and why this one is not.
        if (error.status === 409) await shown.open(asked);
        this.on.failed(error);
      }
    } finally {
      this.busy = false;
      this.on.changed();
      this.on.done();
    }
  }

  async stop() {
    const { shown } = this;
    const [asked, mine] = [shown.run, shown.turn];
    try {
      await api.cancel(asked);
      // A run that only waited has no stream to tell its end.
      if (mine === shown.turn && shown.source === null) await shown.open(shown.id);
    } catch (error) {
      // Not active: it ended first, and the stream tells how.
      if (mine === shown.turn && error.code !== "RUN_NOT_ACTIVE") this.on.failed(error);
    }
    this.on.done();
  }

  async remove(id) {
    try {
      await api.remove(id);
      this.shown.memory.forget(id);
      if (id === this.shown.id) await this.shown.open(null);
    } catch (error) {
      this.on.failed(error);
    }
    this.on.done();
  }
}
