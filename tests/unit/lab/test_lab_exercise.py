"""An exercise runs unanswered, and a wrong answer is told from a right one."""

import sys
from types import ModuleType

import pytest

from lab.check import Outcome, Verdict, check
from lab.exercise import Exercise, NoSuchExercise, exercise, hint


def judge(answer: int, effects: list[str]) -> Verdict:
    faults = [] if len(effects) == answer else [f"{len(effects)} effects, not {answer}"]
    return check("the effects are counted", faults=faults, seen=effects)


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = ModuleType("planted.lesson_06")
    hints = ("Look at the ledger.", "There are two rows.")
    counting = Exercise(name="06-1", claim="the effects are counted", judge=judge, hints=hints)
    lesson.EXERCISES = (counting,)  # type: ignore[attr-defined] # a module made on the spot
    monkeypatch.setitem(sys.modules, "planted", ModuleType("planted"))
    monkeypatch.setitem(sys.modules, "planted.lesson_06", lesson)


def test_an_unanswered_exercise_says_so_and_how_to_get_a_hint() -> None:
    verdict = exercise("06-1", ..., ["a", "b"], package="planted")
    assert verdict.outcome is Outcome.UNKNOWN
    assert "not answered yet" in repr(verdict)
    assert 'hint("06-1")' in repr(verdict)


def test_a_right_and_a_wrong_answer_go_through_the_same_check() -> None:
    assert exercise("06-1", 2, ["a", "b"], package="planted").outcome is Outcome.HOLDS
    assert exercise("06-1", 1, ["a", "b"], package="planted").outcome is Outcome.VIOLATED


def test_an_answer_that_raises_is_wrong_and_says_how() -> None:
    verdict = exercise("06-1", 2, package="planted")
    assert verdict.outcome is Outcome.VIOLATED
    assert "the answer raised TypeError" in repr(verdict)


def test_hints_come_on_call_from_the_first_to_the_last() -> None:
    told = [hint("06-1", number, package="planted").text for number in (1, 2, 3)]
    assert told[0] == "Hint 1 of 2: Look at the ledger."
    assert told[1] == told[2] == "Hint 2 of 2: There are two rows."


def test_an_unknown_exercise_is_refused_with_those_there_are() -> None:
    with pytest.raises(NoSuchExercise, match="Lesson 06 has 06-1"):
        hint("06-9", package="planted")
    with pytest.raises(NoSuchExercise, match="Lesson '77' has no exercises"):
        hint("77-1", package="planted")
