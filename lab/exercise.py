"""Exercises that run unanswered, take an answer, and give hints on call.

    exercise("06-1", ...)           not answered yet
    exercise("06-1", answer)        a verdict, from the same check that the test suite runs
    hint("06-1"); hint("06-1", 2)

An exercise stands in the module of its lesson, `lab/exercises/lesson_06.py`, as one of its
`EXERCISES`. What an answer is to be judged by besides itself is handed on:
`exercise("06-1", answer, bench.tables.visits())`. There is no state: a cell run again says the
same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from types import EllipsisType
from typing import Any, Final

from lab.check import Outcome, Verdict
from lab.display import Display

EXERCISES: Final = "lab.exercises"  # the package with one module a lesson


class NoSuchExercise(LookupError):
    """There is no exercise with this name. The message lists those that there are."""


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """`judge` gets the answer and whatever else the notebook hands on, and gives a verdict."""

    name: str
    claim: str
    """What a right answer brings about, as a sentence that can be true or false."""
    judge: Callable[..., Verdict]
    hints: tuple[str, ...]
    """From a nudge to nearly the answer."""


def exercise(
    name: str,
    answer: Any = ...,
    *evidence: Any,
    package: str = EXERCISES,
) -> Verdict:
    """Judge an answer; `...` is none yet."""
    known = find(name, package)
    if isinstance(answer, EllipsisType):
        told = (f'not answered yet: put your answer in place of the dots. hint("{name}") helps',)
        return Verdict(claim=known.claim, outcome=Outcome.UNKNOWN, findings=told)
    try:
        return known.judge(answer, *evidence)
    except Exception as error:  # noqa: BLE001 - an answer is a learner's code: whatever it raises
        told = (f"the answer raised {type(error).__name__}: {error}",)
        return Verdict(claim=known.claim, outcome=Outcome.VIOLATED, findings=told)


def hint(name: str, number: int = 1, *, package: str = EXERCISES) -> Display:
    """The first hint, or the one that is asked for; past the last it is the last."""
    hints = find(name, package).hints
    number = max(1, min(number, len(hints)))
    text = f"Hint {number} of {len(hints)}: {hints[number - 1]}"
    return Display(text=text, html=f"<p>{escape(text)}</p>")


def find(name: str, package: str = EXERCISES) -> Exercise:
    """The exercise of that name, `<lesson>-<n>`; raises NoSuchExercise."""
    lesson = name.partition("-")[0]
    module = f"{package}.lesson_{lesson}"
    try:
        exercises: tuple[Exercise, ...] = import_module(module).EXERCISES
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise NoSuchExercise(f"Lesson {lesson!r} has no exercises.") from error
    for known in exercises:
        if known.name == name:
            return known
    there = ", ".join(known.name for known in exercises)
    raise NoSuchExercise(f"There is no exercise {name!r}. Lesson {lesson} has {there}.")
