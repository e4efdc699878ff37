"""Kill it and watch it live: where a process may die without costing you anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lab.check import Outcome, Verdict, check
from lab.exercise import Exercise
from lab.promises import answered

_CLAIM: Final = "the answer is there after the restart, and nobody resumed"


def _costs_nothing(point: str, messages: Sequence[Mapping[str, Any]] | None) -> Verdict:
    """`messages` is the record after a kill at `point` and a restart, and None without a kill."""
    record = answered(messages)
    faults = [f"{point}: {record.findings[0]}"] if record.outcome is Outcome.VIOLATED else []
    if messages is not None and not messages:
        faults = [f"{point}: the thread holds nothing yet, and no answer"]
    missing = [f"the conversation after a kill at {point}"] if messages is None else []
    seen = f"{point}: {len(messages or [])} messages"
    return check(_CLAIM, faults=faults, seen=seen, missing=missing)


EXERCISES: Final = (
    Exercise(
        name="00-1",
        claim=_CLAIM,
        judge=_costs_nothing,
        hints=(
            "A reply counts from the moment when its step is on disk. Die after that.",
            "The run's outcome need not be recorded yet: recovery reads it from the thread.",
            "One point lies between the last checkpoint and the outcome. Its name begins with graph.",
        ),
    ),
)
