"""Follow one run: where a process must die for a resume to repeat a finished effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lab.check import Verdict, check, counted
from lab.exercise import Exercise

_PAGE: Final = "/"
_CLAIM: Final = "the page is fetched a second time by the resume"


def _fetched_twice(point: str, visited: Sequence[str]) -> Verdict:
    """`visited` are the paths that the site was asked for, from the message to the resume's end."""
    fetches = visited.count(_PAGE)
    missing = [] if fetches else [f"a visit of the page, with {point!r}"]
    seen = f"{point}: {counted(fetches, 'visit')} of the page"
    faults = [seen] if fetches not in {0, 2} else []
    return check(_CLAIM, faults=faults, seen=seen, missing=missing)


EXERCISES: Final = (
    Exercise(
        name="09-1",
        claim=_CLAIM,
        judge=_fetched_twice,
        hints=(
            "After step.saved(2) the result of the fetch is on disk. Die earlier.",
            "There is a point where the effect has happened and nothing of it is recorded.",
            "tool.returned takes a tool's name in brackets, as tool.calling does.",
        ),
    ),
)
