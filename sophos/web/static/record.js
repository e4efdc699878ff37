// The record: the messages of the newest checkpoint, as the server read them. A message that is shown
// already is left alone, so a reload unfolds nothing and takes no focus and no selection away.

import { code, element, folded, Kept, place, rendered, count } from "./elements.js";

const SPEAKERS = { user: "You", assistant: "Assistant", tool: "Tool" };

export class Record {
  constructor(panel) {
    this.panel = panel;
    this.kept = new Kept();
  }

  // `live`: a run whose own messages are in its stream, told from the start, and not repeated here.
  show(view, live) {
    const runs = new Map(view.runs.map((run, n) => [run.id, { ...run, number: n + 1 }]));
    const nodes = [];
    view.messages.forEach((message, n) => {
      if (message.run === live && message.role !== "user") return;
      const facts = [message, n + 1, runs.get(message.run)?.number];
      nodes.push(this.kept.get(`${n} ${message.id}`, facts, () => messageElement(...facts)));
    });
    for (const id of view.owed) {
      const run = runs.get(id);
      const facts = [run.input, run.number, id === view.active_run];
      nodes.push(this.kept.get(`owed ${id}`, facts, () => owedElement(...facts)));
    }
    place(this.panel, nodes);
    this.kept.settle();
  }

  clear(...instead) {
    this.kept = new Kept();
    this.panel.replaceChildren(...instead);
  }

  // A node has started: what its run was owed is in the thread, whatever was so when it was read.
  reached() {
    for (const note of this.panel.querySelectorAll(".owed")) note.remove();
  }
}

function heading(role, ...where) {
  const place = element("small", "where", where.filter(Boolean).join(" · "));
  return element("h2", "", element("span", "speaker", SPEAKERS[role]), " ", place);
}

function messageElement(message, number, run) {
  const article = element("article", `message ${message.role}`);
  article.append(heading(message.role, `message ${number}`, run && `run ${run}`));
  if (message.reasoning) {
    const kept = element("span", "mark", "on record, apart from the answer");
    article.append(folded("reasoning", ["Reasoning ", kept], code(message.reasoning)));
  }
  if (message.role === "tool") article.append(resultElement(message));
  else if (message.html) article.append(rendered(message.html));
  for (const call of message.tool_calls ?? []) {
    const args = code(JSON.stringify(call.args, null, 2));
    article.append(folded("call", [`Calls ${call.name}`], args));
  }
  return article;
}

function resultElement({ name, status, content, html }) {
  const summary = [`Result of ${name ?? "a tool"}: `, element("span", "outcome", status ?? "unknown")];
  summary.push(element("small", "", ` ${count(content.length, "character")}`));
  return folded(`result ${status}`, summary, html ? rendered(html) : code(""));
}

function owedElement(input, run, active) {
  const article = element("article", "message user", heading("user", `run ${run}`));
  const note = element("p", "mark owed", "Accepted: on record as the run's input, not yet in the thread.");
  article.append(element("div", "body", code(input)), ...(active ? [] : [note]));
  return article;
}

export function welcomeElement() {
  const says = [
    "Send a message to start a run.",
    "While it works you watch its stream. When it ends, this page reads the record again: what you see then is what was kept.",
  ];
  return element("div", "welcome", ...says.map((text) => element("p", "", text)));
}
