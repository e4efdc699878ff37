// Stream against record: of what this page heard of a run, what was kept and what was only shown.

import { element, count } from "./elements.js";
import { resultText } from "./live.js";

const SHOWN = 600; // characters of a text in the table

// One row for each thing heard: `kept` is "kept", "only shown" or "kept otherwise".
export function compare(heard, messages) {
  const written = new Map(messages.map((message) => [message.id, message]));
  const called = new Set(messages.flatMap(({ tool_calls: calls }) => (calls ?? []).map(({ id }) => id)));
  const results = new Map(messages.map((message) => [message.tool_call_id, message]));
  const rows = joined(heard.items).flatMap((item) => {
    if (item.kind !== "trace") return [textRow(item, written.get(item.message))];
    const { step, name, event, data } = item.trace;
    if (event === "call") {
      const kept = called.has(data.id);
      return [row(`call ${name}`, step, JSON.stringify(data.args ?? {}), kept ? "the same call" : null)];
    }
    if (event === "result") {
      const kept = results.get(data.id);
      return [row(`result of ${name}`, step, resultText(data), kept ? kept.content : null)];
    }
    if (event === "note") return [row("note", step, data.text, null)];
    return [];
  });
  const steps = heard.traces.filter(({ event }) => ["enter", "leave", "resume"].includes(event));
  if (steps.length) {
    rows.push(row("steps", null, `${count(steps.length, "time")} enter, leave or resume, as it happened`, null));
  }
  return rows;
}

// A reply whose reasoning and answer came in turns is still one of each.
function joined(items) {
  const texts = new Map();
  return items.flatMap((item) => {
    if (item.kind === "trace") return [item];
    const key = `${item.message} ${item.kind}`;
    const first = texts.get(key);
    if (first) first.text += item.text;
    else texts.set(key, { ...item });
    return first ? [] : [texts.get(key)];
  });
}

function textRow({ kind, step, text }, message) {
  const kept = kind === "answer" ? message?.content : message?.reasoning;
  const verdict = kept === undefined || kept === text ? undefined : "kept otherwise";
  return row(kind, step, text, kept ?? null, verdict);
}

function row(what, step, streamed, recorded, verdict) {
  return { what, step, streamed, recorded, kept: verdict ?? (recorded === null ? "only shown" : "kept") };
}

export function summary(rows) {
  const lost = rows.filter(({ what, kept }) => kept === "only shown" && ["answer", "reasoning"].includes(what));
  const characters = lost.reduce((sum, { streamed }) => sum + streamed.length, 0);
  const kept = rows.filter(({ kept: verdict }) => verdict !== "only shown").length;
  const said = `${kept} of ${rows.length} were kept`;
  return characters ? `${said}; ${count(characters, "character")} of text were only shown` : said;
}

export function comparisonElement(heard, view) {
  if (heard === null) {
    return element(
      "p",
      "",
      "This page watched no run of this conversation. A stream dies with its run and with the page: " +
        "what stands above is all there is, and all there ever was on record.",
    );
  }
  const rows = compare(heard, view.messages);
  const number = view.runs.findIndex(({ id }) => id === heard.run) + 1;
  const caption = element("caption", "", `Run ${number}, as this page heard it: ${summary(rows)}.`);
  const heads = ["What", "Streamed", "On record", ""].map((text) => {
    const head = element("th", "", text || "Kept?");
    head.scope = "col";
    return head;
  });
  const table = element("table", "against", caption, element("thead", "", element("tr", "", ...heads)));
  table.append(element("tbody", "", ...rows.map(rowElement)));
  return table;
}

function rowElement({ what, step, streamed, recorded, kept }) {
  const title = element("th", "", step === null ? what : `${what}, step ${step}`);
  title.scope = "row";
  const sign = element("span", "", { kept: "✓ ", "only shown": "✗ " }[kept] ?? "≠ ");
  sign.setAttribute("aria-hidden", "true");
  const cells = [cut(streamed), recorded === null ? "–" : cut(recorded), element("span", "", sign, kept)];
  const made = element("tr", "", title, ...cells.map((cell) => element("td", "", cell)));
  made.dataset.kept = kept;
  return made;
}

const cut = (text) =>
  text.length > SHOWN ? `${text.slice(0, SHOWN)} … (${count(text.length, "character")})` : text;
