"""Lesson 05's exercise: a word is forgotten, is not, or was never there to be forgotten."""

import pandas as pd

from lab.check import Outcome
from lab.exercise import exercise, hint
from lab.exercises.lesson_05 import STAYS

LOG = "processes/model.requests.jsonl"


def forget(word: str) -> None:
    """An answer. What it did is in the evidence."""


def files(*names: str) -> pd.DataFrame:
    return pd.DataFrame({"file": list(names)})


BEFORE = files("db/sophos.db-wal", "memory/memory.jsonl", LOG)


def test_a_word_that_only_others_keep_is_forgotten() -> None:
    assert exercise("05-1", forget, BEFORE, files(LOG), [STAYS]).outcome is Outcome.HOLDS


def test_each_file_that_still_has_it_is_named() -> None:
    verdict = exercise("05-1", forget, BEFORE, files("memory/memory.jsonl", LOG), [STAYS])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == ("memory/memory.jsonl still has it",)


def test_forgetting_everything_is_too_much() -> None:
    verdict = exercise("05-1", forget, BEFORE, files(), [])
    assert verdict.outcome is Outcome.VIOLATED
    assert "petunia" in verdict.findings[0]


def test_what_was_not_there_before_cannot_have_been_forgotten() -> None:
    verdict = exercise("05-1", forget, files("db/sophos.db-wal"), files(), [STAYS])
    assert verdict.findings == ("missing: a copy in memory/ before",)
    assert exercise("05-1", forget, None, None, []).outcome is Outcome.UNKNOWN
    assert exercise("05-1").outcome is Outcome.UNKNOWN


def test_the_hints_lead_to_both_stores() -> None:
    assert "thread" in hint("05-1", 1).text
    assert "graph" in hint("05-1", 3).text
