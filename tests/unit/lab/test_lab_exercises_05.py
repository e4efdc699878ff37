"""Lesson 05's exercise: a word is forgotten, is not, or was never there to be forgotten."""

import pandas as pd
import pytest

from lab.check import Outcome
from lab.exercise import exercise, hint

STAYS = "Say: the petunia stays."
ASKED = "What is my favourite shrub?"  # before it was known, and again after it
LOG = "processes/model.requests.jsonl"


def forget(word: str) -> None:
    """An answer. What it did is in the evidence."""


def files(*names: str) -> pd.DataFrame:
    return pd.DataFrame({"file": list(names)})


BEFORE = files("db/sophos.db-wal", "memory/memory.jsonl", LOG)


def test_a_word_that_only_others_keep_is_forgotten() -> None:
    verdict = exercise("05-1", forget, BEFORE, files(LOG), [STAYS, ASKED], [ASKED, STAYS])
    assert verdict.outcome is Outcome.HOLDS


def test_each_file_that_still_has_it_is_named() -> None:
    after = files("memory/memory.jsonl", LOG)
    verdict = exercise("05-1", forget, BEFORE, after, [STAYS], [STAYS])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == ("memory/memory.jsonl still has it",)


@pytest.mark.parametrize(
    ("left", "gone"),
    [([], {STAYS, ASKED}), ([STAYS], {ASKED}), ([ASKED, ASKED], {STAYS})],
    ids=["everything", "all but the one that is known to stay", "the other way round"],
)
def test_forgetting_more_than_the_word_is_too_much(left: list[str], gone: set[str]) -> None:
    verdict = exercise("05-1", forget, BEFORE, files(), [STAYS, ASKED], left)
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == tuple(
        f"a conversation {title!r} is gone, and had nothing of it"
        for title in (STAYS, ASKED)
        if title in gone
    )


def test_of_two_conversations_with_one_title_both_have_to_stay() -> None:
    verdict = exercise("05-1", forget, BEFORE, files(), [ASKED, ASKED], [ASKED])
    assert verdict.outcome is Outcome.VIOLATED


def test_what_was_not_there_before_cannot_have_been_forgotten() -> None:
    verdict = exercise("05-1", forget, files("db/sophos.db-wal"), files(), [STAYS], [STAYS])
    assert verdict.findings == ("missing: a copy in memory/ before",)
    assert exercise("05-1", forget, BEFORE, files(), [], []).outcome is Outcome.UNKNOWN
    assert exercise("05-1", forget, None, None, [], []).outcome is Outcome.UNKNOWN
    assert exercise("05-1").outcome is Outcome.UNKNOWN


def test_the_hints_lead_to_both_stores() -> None:
    assert "thread" in hint("05-1", 1).text
    assert "graph" in hint("05-1", 3).text
