"""The judge of lesson 06 says all three values."""

from typing import Any

import pytest

from lab.check import Outcome
from lab.exercise import exercise

QUESTION = {"role": "user", "content": "?", "run": "dead"}


def answer(run: str) -> dict[str, str]:
    return {"role": "assistant", "content": "391", "run": run}


def left(**changed: Any) -> dict[str, Any]:
    return {"resumable": True, "run": "dead", "messages": [QUESTION, answer("dead")]} | changed


def test_a_resume_that_asks_nobody_is_right() -> None:
    assert exercise("06-1", "step.saving(1)", left()).outcome is Outcome.HOLDS


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"messages": [QUESTION, answer("again")]}, "the model was asked"),
        ({"resumable": False}, "nothing was left to resume"),
        ({"messages": [QUESTION]}, "no answer"),
    ],
)
def test_another_ending_is_wrong_and_named(changed: dict[str, Any], told: str) -> None:
    verdict = exercise("06-1", "agent.answered", left(**changed))
    assert verdict.outcome is Outcome.VIOLATED
    assert told in repr(verdict)


def test_without_a_kill_there_is_nothing_to_judge() -> None:
    assert exercise("06-1", ..., None).outcome is Outcome.UNKNOWN
    assert exercise("06-1", "step.saving(1)", None).outcome is Outcome.UNKNOWN
