"""A screen is held against the record: it agrees, it does not, or there is nothing to hold."""

from lab.check import Outcome
from lab.screen import screen_agrees

RECORD = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "one two three"}]


def test_the_answer_on_record_is_what_the_screen_is_to_show() -> None:
    verdict = screen_agrees("one two  three", RECORD)
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.findings == ("message 2: the same 3 words",)


def test_half_an_answer_is_not_the_answer() -> None:
    verdict = screen_agrees("one two", RECORD)
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == ("2 words are shown, message 2 has 3",)


def test_a_half_told_before_the_answer_is_seen_to_be_too_much() -> None:
    verdict = screen_agrees("one tw one two three", RECORD)
    assert verdict.findings == (
        "2 words stand before the answer of message 2 that it does not have",
    )


def test_what_is_shown_without_an_answer_on_record_is_named() -> None:
    verdict = screen_agrees("one two", RECORD[:1])
    assert verdict.findings == ("2 words are shown, and message 1 (user) is no answer",)


def test_without_a_record_or_without_any_answer_nobody_can_tell() -> None:
    assert screen_agrees("one", None).outcome is Outcome.UNKNOWN
    assert screen_agrees("one", []).outcome is Outcome.UNKNOWN
    assert screen_agrees("", RECORD[:1]).outcome is Outcome.UNKNOWN
