// The four identities of a conversation side by side, and what this page knows of its connection.

import { element, idElement, place, Kept, count, staleElement } from "./elements.js";

export class Inspector {
  constructor(cards, facts) {
    Object.assign(this, { cards, facts });
    this.kept = new Kept();
    this.keptFacts = new Kept();
  }

  // `view` is null where there is no conversation.
  showIdentities(view) {
    const checkpoints = view?.checkpoints ?? null;
    const [run, checkpoint] = [view?.runs.at(-1), checkpoints?.at(-1)];
    const many = (list, noun) => (list ? count(list.length, noun) : "–");
    const { messages, next, owed } = now(view, checkpoint);
    const pending = next?.length ? `next: ${[...new Set(next)].join(", ")}` : "next is empty";
    const rows = [
      ["Conversation", "what you see", view?.conversation.id, view ? count(messages, "message") : "–", ""],
      ["Thread", "LangGraph's, same id", view?.conversation.id, view ? pending : "–", view ? `owed: ${owed}` : ""],
      ["Runs", "the attempts", run?.id, many(view?.runs, "run"), run ? `newest ${run.status}` : ""],
      ["Checkpoints", "state after a step", checkpoint?.checkpoint_id, many(checkpoints, "checkpoint"), checkpoint ? `newest step ${checkpoint.step}` : ""],
    ];
    place(this.cards, rows.map((row) => this.kept.get(row[0], row, () => cardElement(...row))));
    this.kept.settle();
  }

  showConnection({ state, bootId, before, event, checks }) {
    const off = checks.protections?.startsWith("off") ? checks.protections.slice("off: ".length) : "";
    const process = bootId ? [idElement(bootId, "boot id")] : ["unknown"];
    if (before && before !== bootId) process.push(" restarted; before: ", idElement(before, "boot id"));
    const rows = [
      ["connection", state],
      ["last event id", event ? `${event.run.slice(0, 8)}:${event.last}` : "none heard"],
      ["boot id", bootId, before],
      ["protections off", checks.protections === undefined ? "unknown" : off || "none"],
    ];
    const nodes = rows.map(([name, ...value]) =>
      this.keptFacts.get(name, value, () => {
        const content = name === "boot id" ? process : value;
        const made = element("div", "", element("dt", "", name), element("dd", "", ...content));
        if (name === "connection") made.dataset.state = state.split(" ")[0];
        if (name === "protections off" && off) made.className = "warned";
        return made;
      }),
    );
    place(this.facts, nodes);
    this.keptFacts.settle();
  }
}

// The thread as it is: while a run is active its newest checkpoint says more than the view, which
// was read before it.
function now(view, head) {
  if (view?.active_run && head?.run === view.active_run) {
    return { messages: head.message_count, next: head.next, owed: 0 };
  }
  return { messages: view?.messages.length, next: view?.next, owed: view?.owed.length };
}

function cardElement(name, meaning, id, ...facts) {
  const card = element("section", "card", element("h3", "", name), element("small", "", meaning));
  card.append(element("div", "identity", id ? idElement(id, `${name.toLowerCase().replace(/s$/, "")} id`) : "none"));
  card.append(...facts.filter(Boolean).map((fact) => element("div", "fact", fact)));
  if (facts.includes("newest running")) card.lastChild.append(staleElement());
  return card;
}
