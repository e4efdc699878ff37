"""What a thread can tell of its attempts, as checks that can fail. Each takes plain frames.

    attempts_in_thread(bench.tables.runs(c), bench.tables.checkpoints(c))

None of them asks the server: what it is given is all it knows.
"""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from lab.check import Verdict, check, counted


def attempts_in_thread(runs: pd.DataFrame, checkpoints: pd.DataFrame) -> Verdict:
    """The checkpoints alone tell that each attempt took place: every run has one of its own.

    Both frames are of one conversation. A checkpoint whose run has no row speaks against it, too.
    """
    named = list(checkpoints["run"])
    faults = [
        f"{run} left no checkpoint (row {row})"
        for row, run in zip(runs.index, runs["run"], strict=True)
        if run not in named
    ]
    faults += [
        f"step {step} names {run or 'no run'}, which is no row"
        for step, run in zip(checkpoints["step"], named, strict=True)
        if run not in set(runs["run"])
    ]
    missing = [] if len(runs) else ["a run on record"]
    missing += [] if named else ["a checkpoint of the thread"]
    return check(
        "the thread tells of every attempt",
        faults=[] if missing else faults,
        seen=f"{counted(len(runs), 'run')}, each with a checkpoint",
        missing=missing,
    )


def stop_met(meant: Collection[str], runs: pd.DataFrame) -> Verdict:
    """A stop ended the attempts that it was meant for, and no other.

    `meant` are the runs' ids; `runs` is `tables.runs(c, raw=True)`.
    """
    claim = "a stop ends the attempt that it was meant for, and no other"
    if "id" not in runs.columns:
        return check(claim, missing=["the ids of the runs: tables.runs(c, raw=True)"])
    cancelled = set(runs.loc[runs["status"] == "cancelled", "id"])
    ids = dict(zip(runs["id"], runs["run"], strict=True))
    faults = [
        f"{name} was stopped, and the stop was meant for another (row {row})"
        for row, (run, name) in zip(runs.index, ids.items(), strict=True)
        if run in cancelled and run not in meant
    ]
    faults += [f"{ids[run]} was not stopped" for run in meant if run in ids.keys() - cancelled]
    missing = (
        [] if meant and set(meant) <= ids.keys() else ["the row of the attempt it was meant for"]
    )
    return check(claim, faults=faults, seen=f"{len(cancelled)} stopped", missing=missing)
