// The steps of a conversation: from its checkpoints, and while a run is active from its stream too.
// A step that was streamed becomes the same step once it is read from the record.

// Grouped by run, oldest first: [{ run, number, kind, steps: [{ key, step, node, state, calls, notes,
// checkpoint, next }] }]. A state is "on record", "live" or "pending"; `view.checkpoints` may be null.
export function stepsByRun(view, heard) {
  const steps = new Map();
  for (const step of recorded(view)) steps.set(`${step.run} ${step.step}`, step);
  if (heard !== null && heard.run === view.active_run) listen(heard, steps);
  const groups = view.runs.map((run, n) => ({ run: run.id, number: n + 1, kind: run.kind, steps: [] }));
  const byRun = new Map(groups.map((group) => [group.run, group]));
  for (const [key, step] of steps) byRun.get(step.run)?.steps.push({ key, ...step });
  for (const group of groups) group.steps.sort((one, other) => one.step - other.step);
  return groups;
}

function recorded({ checkpoints, messages, runs, active_run: active }) {
  const byId = new Map((checkpoints ?? []).map((checkpoint) => [checkpoint.checkpoint_id, checkpoint]));
  const results = new Map(messages.map((message) => [message.tool_call_id, message]));
  const callsBefore = lastCalls(messages);
  const made = (run, step, nodes, state, before, more) => {
    const called = nodes.includes("tools") ? (callsBefore[before] ?? []) : [];
    const calls = called.map((call) => ({ ...call, result: resultOf(results.get(call.id)) }));
    return { run, step, node: nodes.join(", "), state, calls, notes: [], ...more };
  };
  const steps = (checkpoints ?? []).map((checkpoint) => {
    const parent = byId.get(checkpoint.parent_id);
    const nodes = nodesOf(checkpoint, parent);
    const more = { checkpoint, next: checkpoint.next };
    return made(checkpoint.run, checkpoint.step, nodes, "on record", parent?.message_count ?? 0, more);
  });
  const head = (checkpoints ?? []).at(-1);
  if (head?.next.length) {
    const state = active === null ? "pending" : "live";
    const nodes = head.next[0] === "__start__" ? ["input"] : [...new Set(head.next)];
    const run = active ?? runs.at(-1)?.id;
    steps.push(made(run, head.step + 1, nodes, state, head.message_count, { checkpoint: null, next: [] }));
  }
  return steps;
}

// The nodes that ran for a checkpoint are the ones that were pending on the one before it.
function nodesOf({ source }, parent) {
  if (source === "input" || !parent || parent.next.includes("__start__")) return ["input"];
  return [...new Set(parent.next)];
}

// For each number of messages, the calls that the last of them to make any made.
function lastCalls(messages) {
  const calls = [[]];
  for (const { tool_calls: made } of messages) calls.push(made?.length ? made : calls.at(-1));
  return calls;
}

const resultOf = (message) => message && { status: message.status, text: message.content };

function listen(heard, steps) {
  for (const { step, node, name, event, data } of heard.traces) {
    const key = `${heard.run} ${step}`;
    if (event === "resume" || (event === "note" && !steps.has(key))) continue;
    if (!steps.has(key)) {
      steps.set(key, {
        ...{ run: heard.run, step, node, state: "live", calls: [], notes: [] },
        ...{ checkpoint: null, next: [] },
      });
    }
    const known = steps.get(key);
    if (event === "leave") known.state = "on record"; // announced after its checkpoint was on disk
    if (event === "note") known.notes.push(data.text);
    if (event === "call" && !known.calls.some(({ id }) => id === data.id)) {
      known.calls.push({ id: data.id, name, args: data.args });
    }
    if (event === "result") {
      const call = known.calls.find(({ id }) => id === data.id);
      if (call) call.result ??= { status: data.status, text: data.text, characters: data.characters };
    }
  }
}
