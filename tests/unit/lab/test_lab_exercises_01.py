"""Lesson 01's exercise: its judge says all three values."""

from lab.check import Outcome
from lab.exercise import exercise

OPTIONAL = {"optional": True}


def test_a_run_that_completes_without_the_memory_server_is_what_is_asked_for() -> None:
    assert exercise("01-1", OPTIONAL, "completed", ["mcp tasks"]).outcome is Outcome.HOLDS


def test_a_run_that_fails_violates_the_claim() -> None:
    verdict = exercise("01-1", {"timeout": 1}, "failed", ["mcp tasks"])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == ("with {'timeout': 1}, the run is failed",)


def test_a_server_that_was_repaired_is_no_answer() -> None:
    verdict = exercise("01-1", {"args": []}, "completed", ["mcp memory", "mcp tasks"])
    assert verdict.outcome is Outcome.VIOLATED
    assert "repaired" in verdict.findings[0]


def test_without_a_run_or_an_answer_nobody_can_tell() -> None:
    assert exercise("01-1", OPTIONAL, None, []).outcome is Outcome.UNKNOWN
    assert exercise("01-1").outcome is Outcome.UNKNOWN
