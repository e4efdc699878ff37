// The trace: what the graph did, run by run and step by step. Of an older run the steps are made when
// it is unfolded: a long conversation has thousands.

import { code, element, folded, idElement, Kept, place, count, staleElement } from "./elements.js";
import { resultText } from "./live.js";
import { stepsByRun } from "./steps.js";

const SIGNS = { "on record": "✓", live: "●", pending: "△" };

export class Trace {
  constructor(panel) {
    this.panel = panel;
    this.clear();
  }

  clear() {
    this.runs = new Map();
    this.panel.replaceChildren(element("p", "", "No run yet."));
  }

  show(view, heard) {
    const groups = stepsByRun(view, heard).reverse();
    const nodes = groups.map((group, n) => {
      if (!this.runs.has(group.run)) this.runs.set(group.run, new RunTrace(group, n === 0));
      return this.runs.get(group.run).show(group);
    });
    place(this.panel, nodes);
  }
}

class RunTrace {
  constructor(group, newest) {
    this.kept = new Kept();
    this.title = element("summary");
    this.steps = element("ol", "steps");
    this.fold = element("details", "run-trace", this.title, this.steps);
    this.fold.open = newest;
    this.fold.addEventListener("toggle", () => this.fill());
  }

  show(group) {
    this.group = group;
    const resumed = group.kind === "resume" ? ", a resume" : "";
    this.title.textContent = `Run ${group.number}${resumed}: ${count(group.steps.length, "step")}`;
    this.fill();
    return this.fold;
  }

  fill() {
    if (!this.fold.open) return;
    place(this.steps, this.group.steps.map((step) => this.kept.get(step.key, step, () => stepElement(step))));
    this.kept.settle();
  }
}

function stepElement({ step, node, state, calls, notes, checkpoint, next }) {
  const sign = element("span", "sign", SIGNS[state]);
  sign.setAttribute("aria-hidden", "true");
  const what = [element("span", "step", `step ${signed(step)}`), ` ${node} `];
  const badge = element("span", "state", sign, ` ${state}`, ...(state === "live" ? [staleElement()] : []));
  badge.dataset.state = state;
  const lines = element("ul");
  const input = node === "input";
  if (state === "pending") lines.append(line("next", input ? "the input waits to be applied" : `${node} is to run`));
  else if (!input) lines.append(line("enter", node));
  for (const call of calls) lines.append(...callLines(call));
  for (const note of notes) lines.append(line("note", note));
  if (state === "on record") lines.append(leaveLine(input ? "saved" : "leave", checkpoint, next));
  const fold = folded("step", [...what, badge], lines);
  fold.open = true;
  return element("li", "", fold);
}

const signed = (step) => String(step).replace("-", "−");

function line(event, ...content) {
  const made = element("li", "", element("span", "event", event), " ", ...content);
  made.dataset.event = event;
  return made;
}

function callLines({ name, args, result }) {
  const asked = line("call", folded("", [name], code(JSON.stringify(args ?? {}, null, 2))));
  if (!result) return [asked];
  return [asked, line("result", folded("", [`${name}: ${result.status}`], code(resultText(result))))];
}

function leaveLine(event, checkpoint, next) {
  if (!checkpoint) return line(event, "its checkpoint is on disk");
  const id = idElement(checkpoint.checkpoint_id, "checkpoint id");
  const then = next.length ? ` next: ${[...new Set(next)].join(", ")}` : " next: nothing";
  return line(event, id, then);
}
