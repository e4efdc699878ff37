"""Side effects: how often one call may happen when nothing but luck protects it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lab.check import Verdict, check, counted
from lab.exercise import Exercise

_WANTED: Final = 3
_CLAIM: Final = "one call has three effects"


def _happened(points: Sequence[str], titles: Sequence[str] | None) -> Verdict:
    """`titles` are the tracker's new rows, one for each effect, after deaths at `points`."""
    died = ", ".join(points)
    missing = [] if titles else [f"an effect, with deaths at {died}"]
    seen = f"{died}: {counted(len(titles or []), 'effect')}"
    faults = [seen] if titles and len(titles) != _WANTED else []
    return check(_CLAIM, faults=faults, seen=seen, missing=missing)


EXERCISES: Final = (
    Exercise(
        name="07-1",
        claim=_CLAIM,
        judge=_happened,
        hints=(
            "A resume is a run like any other: its process can die as well.",
            "Each death in the window costs one effect more. The last resume has one of its own.",
            "tool.returned is the window. tool.recorded is after it.",
        ),
    ),
)
