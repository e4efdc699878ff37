"""The judge of lesson 07 says all three values."""

import pytest

from lab.check import Outcome
from lab.exercise import exercise

POINTS = ["tool.returned", "tool.returned"]


@pytest.mark.parametrize(
    ("titles", "outcome", "told"),
    [
        (["cat", "cat", "cat"], Outcome.HOLDS, "tool.returned, tool.returned: 3 effects"),
        (["cat", "cat"], Outcome.VIOLATED, ": 2 effects"),
        (["cat"] * 4, Outcome.VIOLATED, ": 4 effects"),
        ([], Outcome.UNKNOWN, "an effect, with deaths at"),
        (None, Outcome.UNKNOWN, "an effect, with deaths at"),
    ],
)
def test_only_three_effects_are_right(
    titles: list[str] | None, outcome: Outcome, told: str
) -> None:
    verdict = exercise("07-1", POINTS, titles)
    assert verdict.outcome is outcome
    assert told in repr(verdict)
