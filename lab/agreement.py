"""Where two records of one thing can disagree, as checks that can fail.

    calls_answered(bench.client.read(conversation)["messages"])
    interrupted_has_work(outlook(bench, conversations))
    effects_on_record(bench.tables.effects(), bench.tables.writes(conversation))

As in lab/promises.py: what a check is given is all it knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from lab.check import Verdict, check, counted

Messages = Sequence[Mapping[str, Any]]


def calls_answered(messages: Messages | None) -> Verdict:
    """Each tool call on record has one result: without it, the next reply is asked for in vain.

    `messages` is `client.read(…)["messages"]`.
    """
    results = Counter(row["tool_call_id"] for row in messages or [] if row["role"] == "tool")
    calls = [
        (number, call)
        for number, row in enumerate(messages or [], 1)
        for call in row.get("tool_calls") or []
    ]
    faults = [
        f"message {number} asks for {call['name']}: {results[call['id']] or 'no'} results"
        for number, call in calls
        if results[call["id"]] != 1
    ]
    missing = [] if calls else ["a tool call on record"]
    claim = "each tool call on record has its result"
    return check(claim, faults=faults, seen=counted(len(calls), "call"), missing=missing)


def interrupted_has_work(outlook: pd.DataFrame) -> Verdict:
    """What is recorded as interrupted can be resumed. `outlook` is as from lab/outlook.py."""
    cut = outlook[outlook["status"] == "interrupted"]
    faults = [
        f"{row.what}: nothing is left (row {row.Index})"
        for row in cut.itertuples()
        if not row.resumable
    ]
    missing = [] if len(cut) else ["a run that was interrupted"]
    claim = "where a run is interrupted, work is left"
    return check(claim, faults=faults, seen=f"{len(cut)} interrupted", missing=missing)


def effects_on_record(effects: pd.DataFrame, writes: pd.DataFrame) -> Verdict:
    """For each effect that a witness saw there is a result on record, and the other way round.

    `effects` are the tracker's rows for a thread's calls, `writes` is `tables.writes(thread)`.
    """
    results = [what for what in writes["what"] if what.startswith("result of ")]
    done, known = len(effects), len(results)
    seen = f"effects in the world: {done}, results on record: {known}"
    if titles := ", ".join(dict.fromkeys(effects["title"])):
        seen = f"{titles}: {seen}"
    faults = [seen] if done != known else []
    missing = [] if done or known else ["an effect, or a result on record"]
    claim = "the record tells of each effect"
    return check(claim, faults=faults, seen=seen, missing=missing)
