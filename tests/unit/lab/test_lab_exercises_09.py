"""Lesson 09's exercise: its judge says all three values."""

from lab.check import Outcome
from lab.exercise import exercise

POINT = "tool.returned(fetch__fetch)"


def test_a_page_that_was_fetched_by_both_runs_is_what_is_asked_for() -> None:
    verdict = exercise("09-1", POINT, ["/robots.txt", "/", "/robots.txt", "/"])
    assert verdict.outcome is Outcome.HOLDS


def test_a_page_that_was_fetched_once_violates_the_claim_and_names_the_point() -> None:
    verdict = exercise("09-1", "step.saved(2)", ["/robots.txt", "/"])
    assert verdict.outcome is Outcome.VIOLATED
    assert "step.saved(2): 1 visit of the page" in verdict.findings


def test_without_a_visit_or_an_answer_nobody_can_tell() -> None:
    assert exercise("09-1", POINT, ["/robots.txt"]).outcome is Outcome.UNKNOWN
    assert exercise("09-1").outcome is Outcome.UNKNOWN
