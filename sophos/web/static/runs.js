// The run strip: every attempt on this conversation, and of the one that is picked, all that is known.

import { duration, element, idElement, Kept, place, statusElement, timeElement, count } from "./elements.js";

export class RunStrip {
  constructor(list, detail) {
    Object.assign(this, { list, detail });
    this.clear();
  }

  clear() {
    this.picked = null;
    this.kept = new Kept();
    this.keptDetail = new Kept();
    this.list.replaceChildren();
    this.detail.replaceChildren();
    this.detail.hidden = true;
  }

  show(view, bootId) {
    this.shown = { view, bootId }; // a chip outlives the view that it was made for
    const grown = view.runs.length > this.list.childElementCount;
    const chips = view.runs.map((run, n) => {
      const facts = { run, number: n + 1, wrote: wrote(view, run), open: run.id === this.picked };
      return this.kept.get(run.id, facts, () => this.chip(facts));
    });
    place(this.list, chips);
    this.kept.settle();
    if (grown) this.list.scrollLeft = this.list.scrollWidth;
    const picked = view.runs.findIndex(({ id }) => id === this.picked);
    this.detail.hidden = picked < 0;
    const facts = [view.runs[picked], wrote(view, view.runs[picked] ?? {}), bootId];
    const made = () => detailElement(view, picked, bootId);
    place(this.detail, picked < 0 ? [] : [this.keptDetail.get(this.picked, facts, made)]);
    this.keptDetail.settle();
  }

  pick(run) {
    this.picked = this.picked === run ? null : run;
    this.show(this.shown.view, this.shown.bootId);
  }

  chip({ run, number, wrote: steps, open }) {
    const made = element("button", "chip", element("b", "", `Run ${number}`), " ", statusElement(run.status));
    made.type = "button";
    made.setAttribute("aria-expanded", String(open));
    made.setAttribute("aria-controls", this.detail.id);
    made.addEventListener("click", () => this.pick(run.id));
    const facts = [];
    if (run.finished_at) facts.push(duration(run.started_at, run.finished_at));
    if (run.error) facts.push(run.error.code);
    if (steps) facts.push(steps);
    made.append(element("small", "", facts.join(" · ")));
    return element("li", "", made);
  }
}

// Which checkpoints a run wrote, by step; empty while they have not been read.
function wrote({ checkpoints }, run) {
  if (!checkpoints) return "";
  const steps = checkpoints.filter((checkpoint) => checkpoint.run === run.id).map(({ step }) => step);
  if (!steps.length) return "no checkpoint";
  const [first, last] = [Math.min(...steps), Math.max(...steps)].map((step) => String(step).replace("-", "−"));
  return first === last ? `step ${first}` : `steps ${first} … ${last}`;
}

function detailElement(view, at, bootId) {
  const run = view.runs[at];
  const list = element("dl", "facts");
  const fact = (name, ...content) => list.append(element("div", "", element("dt", "", name), element("dd", "", ...content)));
  fact("run", idElement(run.id, "run id"));
  const resumed = view.runs.findIndex(({ id }) => id === run.resume_of) + 1;
  fact("started by", resumed ? `a resume of run ${resumed}` : `a ${run.kind}`);
  fact("attempt", String(run.attempt));
  fact("process", idElement(run.owner, "boot id"), run.owner === bootId ? " this one" : " an earlier one");
  const ended = run.finished_at ? [" to ", timeElement(run.finished_at, "seconds")] : [", not ended"];
  fact("time", timeElement(run.started_at, "seconds"), ...ended);
  if (run.cancel_requested_at) fact("stop asked for", timeElement(run.cancel_requested_at, "seconds"));
  if (run.error) fact(run.error.code, run.error.message);
  const checkpoints = (view.checkpoints ?? []).filter((checkpoint) => checkpoint.run === run.id);
  const steps = checkpoints.flatMap(({ step, checkpoint_id: id }) => [
    element("span", "wrote", `${String(step).replace("-", "−")} `, idElement(id, "checkpoint id")),
    " ",
  ]);
  fact(count(checkpoints.length, "checkpoint"), ...(steps.length ? steps : ["It wrote none."]));
  return list;
}

// What is so, and why it can be resumed: from the thread and what it is owed, never from a status.
// `lost`: there is no server to ask, and this is only what it said last.
export function stateText(view, lost) {
  const newest = view.runs.at(-1);
  if (!newest) return "";
  const name = `Run ${view.runs.length}`;
  if (newest.status === "waiting") return `${name} waits for a decision on a tool call.`;
  if (view.active_run !== null && lost) return `${name} was running when the server was last heard of.`;
  if (view.active_run !== null) return `${name} is running. What you see of it is its stream.`;
  const error = newest.error ? `${newest.error.code}: ${newest.error.message} ` : "";
  if (!view.resumable) return `${error}Nothing is left to do: next is empty, and no message is owed.`;
  const why = [];
  if (view.next.length) why.push(`next is ${[...new Set(view.next)].join(", ")}`);
  if (view.owed.length) why.push(`${count(view.owed.length, "accepted message")} never reached the thread`);
  return `${error}Work is left: ${why.join(", and ")}. Resume goes on after the last step on record.`;
}
