// Whether there is a server to talk to, and finding it again: each try waits longer than the one
// before, until something is heard. A page must not ask in a tight loop.

import * as api from "./api.js";

const FIRST_WAIT = 500; // milliseconds before the server is asked again; doubled each time
const LONGEST_WAIT = 8000;

export class Connection {
  // `on.changed()` after each change of `state`, `why` or `bootId`; `on.back()` when it answers again.
  constructor(on) {
    this.on = on;
    this.state = "ended"; // live | reconnecting | ended
    this.why = "";
    this.bootId = null;
    this.before = null; // the boot id of the process before, if this page has seen two
    this.wait = FIRST_WAIT;
    this.wake = null; // ends the wait
    const now = () => this.wake?.();
    addEventListener("online", now);
    document.addEventListener("visibilitychange", () => document.hidden || now());
  }

  get recovering() {
    return this.wake !== null;
  }

  set(state) {
    if (this.recovering) return;
    this.state = state;
    this.on.changed();
  }

  heard() {
    this.wait = FIRST_WAIT;
  }

  retry() {
    this.wake?.();
  }

  async identify() {
    const found = await api.bootId();
    if (found !== null && found !== this.bootId) {
      this.before = this.bootId;
      this.bootId = found;
      this.on.changed();
    }
    return found !== null;
  }

  async lost(why = "The server does not answer.") {
    if (this.recovering) return;
    for (let tries = 1, found = false; !found; tries += 1) {
      this.why = navigator.onLine ? why : "This computer is offline.";
      this.state = `reconnecting (try ${tries}, after ${this.wait / 1000} s)`;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, this.wait);
        this.wake = () => (clearTimeout(timer), resolve());
        this.on.changed();
      });
      this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
      found = await this.identify();
    }
    this.wake = null;
    this.why = "";
    this.state = "ended";
    this.on.changed();
    this.on.back();
  }
}
