"""Side effects: how often one call may happen when nothing but luck protects it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from lab.check import Verdict, check
from lab.exercise import Exercise

_WANTED: Final = 3
_CLAIM: Final = "one call has three effects"


def _happened(points: Sequence[str], titles: Sequence[str] | None) -> Verdict:
    """`titles` are the tracker's new rows, one for each effect, after deaths at `points`."""
    died = ", ".join(points)
    if not titles:
        return check(_CLAIM, missing=[f"an effect, with deaths at {died}"])
    counts = Counter(titles)
    told = "; ".join(f"{title}: {number}" for title, number in sorted(counts.items()))
    seen = f"effects after deaths at {died}: {told}"
    faults = [] if list(counts.values()) == [_WANTED] else [seen]
    return check(_CLAIM, faults=faults, seen=seen)


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
