// The conversation that is shown: read from the record, and followed while a run is active. The
// record is the only truth: every stream ends, and every doubt is settled, by reading it again.

import * as api from "./api.js";
import { Memory } from "./heard.js";
import { watch } from "./stream.js";

const ACTIVE = ["running", "waiting"];
const NOT_FOUND = 404;
const NONE = -Infinity;

export class Shown {
  // `on`: blank(before), read(view, heard), heard(), traced(trace), checkpoints(view), ended(status),
  // failed(error). Whatever belongs to a conversation no longer shown is dropped before it gets there.
  constructor(connection, on) {
    Object.assign(this, { connection, on });
    this.id = undefined; // null for a new one, undefined before the first `open`
    this.view = null;
    this.turn = 0; // grows whenever another view is wanted: answers to an older one are dropped
    this.source = null;
    this.memory = new Memory();
    this.reading = false;
    this.wanted = NONE; // the step whose checkpoint is to be known, whatever it takes
  }

  get run() {
    return this.view?.active_run ?? null;
  }

  get heard() {
    return this.memory.of(this.id);
  }

  leave() {
    this.source?.close();
    this.source = null;
    this.turn += 1;
    return this.turn;
  }

  async open(wanted) {
    const mine = this.leave();
    if (wanted !== this.id) {
      const before = this.id;
      this.id = wanted;
      this.view = null;
      this.on.blank(before);
    }
    if (wanted === null) {
      this.connection.set("ended");
      return;
    }
    try {
      const [detail, runs] = await Promise.all([api.read(wanted), api.runs(wanted)]);
      if (mine === this.turn) await this.show(detail, runs, mine);
    } catch (error) {
      if (mine !== this.turn) return;
      if (error.status === NOT_FOUND && this.view) {
        this.view = null;
        this.on.blank(this.id); // what is deleted is shown no longer; what is being typed stays
      }
      this.on.failed(error);
    }
  }

  async show(detail, runs, mine) {
    const newest = runs.at(-1);
    const active = ACTIVE.includes(newest?.status) ? newest.id : null;
    // A run began or ended between the two answers: they belong to different moments.
    if (active !== detail.active_run) return this.open(this.id);
    this.view = { ...detail, runs, checkpoints: this.view?.checkpoints ?? null };
    // A run that waits says nothing more: its decision is a run of its own.
    const running = newest?.status === "running";
    const heard = running ? this.memory.begin(this.id, active) : null;
    this.on.read(this.view, heard);
    if (running) this.follow(active, heard, mine);
    else this.connection.set("ended");
    if (!running) this.connection.heard();
    await this.readCheckpoints();
  }

  follow(run, heard, mine) {
    const current = (then) => (...given) => mine === this.turn && then(...given);
    this.source = watch(this.id, run, heard.last, {
      opened: current(() => this.connection.set("live")),
      lost: current(() => this.lose()),
      event: current((name, data, number) => this.hear(heard, name, data, number)),
    });
  }

  lose(why) {
    this.leave();
    this.connection.lost(why);
  }

  hear(heard, name, data, number) {
    const order = name === "gap" ? "hole" : heard.accept(number);
    if (order === "heard") return;
    if (order === "hole") {
      // Another process has the run, or its outcome waits to be recorded: the record is all there is.
      if (heard.last === 0) heard.untold = true;
      this.lose("Something was missed. The record is read again.");
      return;
    }
    this.connection.heard();
    if (heard.untold) {
      heard.untold = false;
      this.on.read(this.view, heard);
    }
    if (name === "token") {
      heard.token(data);
      this.on.heard();
    } else if (name === "trace") {
      heard.trace(data);
      this.on.heard();
      this.on.traced(data);
      // When a step is left its own checkpoint is on disk, and when it is entered the one before.
      if (data.event === "leave") this.readCheckpoints(data.step);
      if (data.event === "enter") this.readCheckpoints(data.step - 1);
    } else {
      this.on.ended(name === "end" ? data.status : "failed");
      this.open(this.id);
    }
  }

  // Whatever there is; or up to a step, if that one is not known yet. One reading at a time.
  async readCheckpoints(step = Infinity) {
    this.wanted = Math.max(this.wanted, step);
    if (this.reading) return;
    this.reading = true;
    while (this.view && this.wanted > newestStep(this.view)) {
      const [asked, known] = [this.id, this.view.checkpoints];
      this.wanted = NONE;
      // Without an answer they stay as they were: whoever misses the server finds it again.
      const found = await api.checkpoints(asked, known?.at(-1)?.checkpoint_id).catch(() => null);
      // Of a view that was left meanwhile, the part that is known belongs to nothing any more.
      if (found && asked === this.id && this.view?.checkpoints === known) {
        this.view.checkpoints = joined(known, found);
        this.on.checkpoints(this.view);
      }
    }
    this.wanted = NONE;
    this.reading = false;
  }
}

const newestStep = ({ checkpoints }) => checkpoints?.at(-1)?.step ?? NONE;

// Those that are known, and from the newest of them on what was read: a checkpoint's own step and
// parent never change, but the newest one's messages do while the next step is at work.
function joined(known, found) {
  const goesOn = known?.length && found[0]?.checkpoint_id === known.at(-1).checkpoint_id;
  return goesOn ? [...known.slice(0, -1), ...found] : found;
}
