"""What Sophos promises, as checks that can fail. Each takes plain frames or lists.

    effects_once(bench.tables.visits(), by="path")
    messages_kept(["Hello"], bench.client.read(conversation)["messages"])

Each names what speaks against its claim (the run, the step, the row), and is *unknown*, with what
is missing, when there was nothing to judge by. None of them asks the server: what it is given is
all it knows, so a planted wrong state is refused like a real one. Rows are numbered as the frame
numbers them, from 0; messages and events from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import pandas as pd

from lab.check import Verdict, check, counted
from lab.stream import StreamEvent

_QUOTED: Final = 40  # characters
_NAMED: Final = 3  # effects that are named where all is well; more are counted

Messages = Sequence[Mapping[str, Any]]


def messages_kept(sent: Sequence[str], messages: Messages | None) -> Verdict:
    """Every accepted message is in the record, once, and in the order in which it was sent.

    `sent` are the texts that were accepted; `messages` is `client.read(…)["messages"]`, or None if
    it could not be read.
    """
    told = [row for row in messages or [] if row["role"] == "user"]
    texts = [str(row["content"]) for row in told]
    wanted, found = Counter(sent), Counter(texts)
    faults = [
        f"message {number} is lost: {_quoted(text)}"
        for number, text in enumerate(sent, 1)
        if not found[text]
    ]
    for text in found:
        rows = [number for number, row in enumerate(messages or [], 1) if _says(row, text)]
        if text not in wanted:
            faults.append(f"message {rows[0]} of the record was never sent: {_quoted(text)}")
        elif found[text] != wanted[text]:
            faults.append(
                f"sent {_times(wanted[text])}, on record {_times(found[text])}"
                f" (messages {_listed(rows)}): {_quoted(text)}"
            )
    if not faults and texts != list(sent):
        faults.append(
            "the record has the messages in another order: " + _listed(map(_quoted, texts))
        )
    missing = []
    if not sent:
        missing.append("the messages that were sent")
    if messages is None:
        missing, faults = [*missing, "the record of the conversation"], []
    return check(
        "no accepted message is lost or doubled",
        faults=faults,
        seen=f"{len(sent)} sent, {len(texts)} on record",
        missing=missing,
    )


def answered(messages: Messages | None) -> Verdict:
    """The record ends with an answer: a text by the assistant that asks for no tool.

    `messages` is as for `messages_kept`.
    """
    number, last = len(messages or []), messages[-1] if messages else None
    faults = []
    if last and (last["role"] != "assistant" or last.get("tool_calls") or not last["content"]):
        faults.append(f"message {number} ({last['role']}) is the last one, and no answer")
    return check(
        "the conversation has its answer",
        faults=faults,
        seen=f"message {number} is the answer",
        missing=[] if last else ["a message on record"],
    )


def effects_once(
    effects: pd.DataFrame, by: str | Sequence[str], expected: Collection[str] | None = None
) -> Verdict:
    """A witness counted each effect once. `by` is the column, or the columns, that name an effect.

    With `expected`, each of these happened too, and nothing else did.
    """
    columns = [by] if isinstance(by, str) else list(by)
    claim = "each effect happened once"
    lacking = [name for name in columns if name not in effects.columns]
    if lacking:
        return check(claim, missing=[f"a column {name!r} of the witness" for name in lacking])
    names = [" ".join(map(str, row)) for row in effects[columns].itertuples(index=False)]
    rows: dict[str, list[Any]] = {}
    for row, name in zip(effects.index, names, strict=True):
        rows.setdefault(name, []).append(row)
    faults = [
        f"{name}: {_times(len(at))} (rows {_listed(at)})"
        for name, at in rows.items()
        if len(at) > 1
    ]
    if expected is not None:
        faults += [f"{name}: never" for name in expected if name not in rows]
        faults += [
            f"{name}: was not asked for (row {at[0]})"
            for name, at in rows.items()
            if name not in expected
        ]
    missing = [] if names or expected is not None else ["an effect that a witness saw"]
    seen = counted(len(rows), "effect")
    if 0 < len(rows) <= _NAMED:
        seen += f": {_listed(rows)}"
    return check(claim, faults=faults, seen=seen, missing=missing)


def calls_not_repeated(events: Mapping[str, Sequence[StreamEvent]]) -> Verdict:
    """A tool call whose result a viewer was told is not made again by a later run.

    `events` are what the runs told, by run, in the order of the runs:
    `{"run 1": client.shown(…), "run 2": …}`.
    """
    done: dict[str, str] = {}
    faults = []
    for run, told in events.items():
        for event in told:
            if event.name != "trace" or event.data["event"] not in ("call", "result"):
                continue
            call, step = event.data["data"]["id"], event.data["step"]
            what = f"{run}, step {step}: {event.data['name']}"
            if call in done:
                faults.append(f"{what} again ({event.data['event']}); it had ended in {done[call]}")
            elif event.data["event"] == "result":
                done[call] = what
    missing = [] if done else ["a tool result that a viewer was told"]
    return check(
        "no finished tool call is repeated",
        faults=faults,
        seen=f"{counted(len(done), 'finished call')} in {counted(len(events), 'run')}",
        missing=missing,
    )


def nothing_running(runs: pd.DataFrame) -> Verdict:
    """No run is left `running` on record, at a moment when no process works on one."""
    left = [
        f"{row.run} is still running (row {row.Index}, owner {row.owner})"
        for row in runs.itertuples()
        if row.status == "running"
    ]
    return check(
        "nothing is left running",
        faults=left,
        seen=counted(len(runs), "run"),
        missing=[] if len(runs) else ["a run on record"],
    )


def one_run_per_request(started: Iterable[str], runs: pd.DataFrame) -> Verdict:
    """Each accepted message, resume or decision has one run, and no run has another reason to be.

    `started` are the runs' ids as the server answered them; `runs` is `tables.runs(raw=True)`. The
    same id twice is one request that was sent twice with one key.
    """
    claim = "each request has one run"
    asked = list(dict.fromkeys(started))
    if "id" not in runs.columns:
        return check(claim, missing=["the ids of the runs: tables.runs(raw=True)"])
    ids = list(runs["id"])
    faults = [f"request {n} has no run" for n, run in enumerate(asked, 1) if run not in ids]
    for row in runs.itertuples():
        if row.id not in asked:
            faults.append(f"{row.run} was asked for by nobody (row {row.Index}, {row.kind})")
        elif ids.index(row.id) != list(runs.index).index(row.Index):
            faults.append(f"{row.run} stands twice (row {row.Index})")
    missing = [] if asked else ["a request that was accepted"]
    seen = f"{counted(len(asked), 'request')}, {counted(len(ids), 'run')}"
    return check(claim, faults=faults, seen=seen, missing=missing)


def stream_whole(received: Sequence[StreamEvent], run: str = "the run") -> Verdict:
    """What came of one run has no gap, nothing twice, and its end.

    `received` are the events as they came, over all connections of one viewer.
    """
    numbers = [int(event.id.rpartition(":")[2]) for event in received if event.id]
    faults = [
        f"{run}: after event {before} came event {after}"
        for before, after in pairwise([0, *numbers])
        if after != before + 1
    ]
    faults += [
        f"{run}: the stream itself says that something is gone (event {number})"
        for number, event in enumerate(received, 1)
        if event.name == "gap"
    ]
    missing = [] if numbers else ["numbered events"]
    if not received or received[-1].name not in {"end", "chat-error"}:
        missing.append(f"the end of the stream (it was cut after event {(numbers or [0])[-1]})")
    return check(
        "the stream has no gap and tells nothing twice",
        faults=faults,
        seen=counted(len(numbers), "event"),
        missing=missing,
    )


def same_record(before: Messages | None, after: Messages | None) -> Verdict:
    """A record that was read again, by another process or later, is the same, field by field."""
    faults = []
    for number, (old, new) in enumerate(zip(before or [], after or [], strict=False), 1):
        differs = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        if differs:
            faults.append(f"message {number} ({old.get('role')}): {', '.join(differs)} differs")
    if before and after is not None and len(before) != len(after):
        faults.append(f"{counted(len(before), 'message')} before, {len(after)} after")
    missing = [] if before else ["the record before"]
    missing += ["the record after"] if after is None else []
    return check(
        "the record is the same when it is read again",
        faults=faults,
        seen=counted(len(before or []), "message"),
        missing=missing,
    )


def _says(message: Mapping[str, Any], text: str) -> bool:
    return bool(message["role"] == "user" and message["content"] == text)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else text[: _QUOTED - 1] + "…")


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _listed(things: Iterable[object]) -> str:
    return ", ".join(map(str, things))
