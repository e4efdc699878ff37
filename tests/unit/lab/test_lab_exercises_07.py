"""The judge of lesson 07 says all three values."""

import pytest

from lab.check import Outcome
from lab.exercise import exercise

POINTS = ["tool.returned", "tool.returned"]


@pytest.mark.parametrize(
    ("titles", "outcome", "told"),
    [
        (["cat"] * 3, Outcome.HOLDS, "deaths at tool.returned, tool.returned: cat: 3"),
        (["cat"] * 2, Outcome.VIOLATED, "cat: 2"),
        (["cat"] * 4, Outcome.VIOLATED, "cat: 4"),
        (["cat", "cat", "dog"], Outcome.VIOLATED, "cat: 2; dog: 1"),
        ([], Outcome.UNKNOWN, "an effect, with deaths at"),
        (None, Outcome.UNKNOWN, "an effect, with deaths at"),
    ],
)
def test_only_three_effects_of_one_call_are_right(
    titles: list[str] | None, outcome: Outcome, told: str
) -> None:
    verdict = exercise("07-1", POINTS, titles)
    assert verdict.outcome is outcome
    assert told in repr(verdict)
