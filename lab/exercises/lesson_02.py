"""Model execution state: an attempt that its thread knows nothing of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd

from lab.attempts import attempts_in_thread
from lab.check import Outcome, Verdict, check
from lab.exercise import Exercise
from lab.promises import answered

_CLAIM: Final = "the message is answered, and no checkpoint names the attempt that brought it"


def _leaves_no_trace(
    point: str, runs: pd.DataFrame, checkpoints: pd.DataFrame, messages: Sequence[Any]
) -> Verdict:
    """`runs`, `checkpoints` and `messages` are of one conversation, after a kill and a resume."""
    attempts = attempts_in_thread(runs, checkpoints)
    end = answered(messages)
    missing = [
        f"with {point!r}: {verdict.findings[0]}"
        for verdict in (attempts, end)
        if verdict.outcome is Outcome.UNKNOWN
    ]
    first = runs["run"].iloc[0] if len(runs) else ""
    steps = list(checkpoints.loc[checkpoints["run"] == first, "step"])
    faults = [f"{point}: step {step} names {first}" for step in steps]
    faults += [f"{point}: {end.findings[0]}"] if end.outcome is Outcome.VIOLATED else []
    if len(runs) < 2:
        missing.append(f"a second attempt, with {point!r}")
    seen = f"{point}: {len(runs)} runs, and {first} is named by none of {len(checkpoints)} steps"
    return check(_CLAIM, faults=faults, seen=seen, missing=missing)


EXERCISES: Final = (
    Exercise(
        name="02-1",
        claim=_CLAIM,
        judge=_leaves_no_trace,
        hints=(
            "The input is a step as well: it has two checkpoints. Die before the first of them.",
            "The row is committed before the graph is driven. A point lies just between.",
            "The point's name begins with run.",
        ),
    ),
)
