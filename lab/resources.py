"""What is held, as checks that can fail: processes that should have ended, bytes that should not grow.

As in lab/promises.py, each takes plain frames or numbers and is *unknown* without evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import pandas as pd
import psutil

from lab.check import Verdict, check, counted

LINEAR: Final = 2.2  # times the bytes for twice the turns; with the square it is 4


def no_process_left(before: pd.DataFrame, alive: Collection[int] | None = None) -> Verdict:
    """Every process of `before` (`tables.processes(raw=True)`, taken while they ran) has ended.

    `alive` are the pids that live now; without it the operating system is asked.
    """
    claim = "no process is left"
    if "pid" not in before.columns:
        return check(claim, missing=["the pids of the processes: tables.processes(raw=True)"])
    living = _living() if alive is None else alive
    return check(
        claim,
        faults=[
            f"{row.process}, started by {row.started_by}, is alive (row {row.Index})"
            for row in before.itertuples()
            if row.pid in living
        ],
        seen=f"{counted(len(before), 'process', 'processes')} that had run",
        missing=[] if len(before) else ["a process that had run"],
    )


def stop_blames_no_run(runs: pd.DataFrame) -> Verdict:
    """No run is on record as failed because its process was asked to stop: at most, as interrupted.

    `runs` are those that worked when the process was asked: rows of `tables.runs()`.
    """
    left = [row for row in runs.itertuples() if row.status == "running"]
    return check(
        "a shutdown makes no run fail",
        faults=[
            f"{row.run} is recorded as failed with {row.error_code} (row {row.Index})"
            for row in runs.itertuples()
            if row.status == "failed"
        ],
        seen=", ".join(f"{row.run} is {row.status}" for row in runs.itertuples()),
        missing=[f"the outcome of {row.run}" for row in left]
        or ([] if len(runs) else ["a run that worked at the time"]),
    )


def growth_linear(sizes: Mapping[int, int], empty: int = 0, most: float = LINEAR) -> Verdict:
    """Bytes grow with the turns and not with their square: twice the turns, at most `most` × more.

    `sizes` are bytes by turns; `empty` are the bytes before the first turn, which do not count.
    """
    doublings = [(turns, 2 * turns) for turns in sorted(sizes) if 2 * turns in sizes]
    ratios = {
        (few, many): (sizes[many] - empty) / (sizes[few] - empty)
        for few, many in doublings
        if sizes[few] > empty
    }
    told = {pair: f"{pair[0]} → {pair[1]} turns: × {ratio:.1f}" for pair, ratio in ratios.items()}
    return check(
        "the file grows with the turns, not with their square",
        faults=[told[pair] for pair, ratio in ratios.items() if ratio > most],
        seen="; ".join(told.values()),
        missing=[] if ratios else ["two sizes, one at twice the turns of the other"],
    )


def _living() -> set[int]:
    return {
        process.pid
        for process in psutil.process_iter(["status"])
        if process.info["status"] != psutil.STATUS_ZOMBIE
    }
