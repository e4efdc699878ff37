"""Failure, restart and resume: work that a resume finishes without asking anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lab.check import Outcome, Verdict, check
from lab.exercise import Exercise
from lab.promises import answered

_CLAIM: Final = "a resume brings the answer, and no model is asked"


def _asks_nobody(point: str, seen: Mapping[str, Any] | None) -> Verdict:
    """`seen`: `resumable` after the restart, the `run` that died, and the `messages` at the end."""
    if seen is None:
        return check(_CLAIM, missing=[f"what a kill at {point} left"])
    faults = []
    if not seen["resumable"]:
        faults.append(f"{point}: nothing was left to resume")
    record = answered(seen["messages"])
    if record.outcome is not Outcome.HOLDS:
        faults.append(f"{point}: {record.findings[0]}")
    elif seen["messages"][-1]["run"] != seen["run"]:
        faults.append(f"{point}: the answer is the resume's own, so the model was asked")
    return check(_CLAIM, faults=faults, seen=f"{point}: {len(seen['messages'])} messages")


EXERCISES: Final = (
    Exercise(
        name="06-1",
        claim=_CLAIM,
        judge=_asks_nobody,
        hints=(
            "A step is saved in two writes: first what its task gave, then its checkpoint.",
            "Die between the two. The run is not finished, yet nothing is left to be asked.",
            "step.saving takes the number of a step in brackets. The answer to a sum is step 1.",
        ),
    ),
)
