"""Lesson 00's exercise: a kill cost nothing, cost the answer, or did not take place."""

from lab.check import Outcome
from lab.exercise import exercise

ASKED = {"role": "user", "content": "Go"}
ANSWER = {"role": "assistant", "content": "Gone.", "tool_calls": []}


def test_a_point_after_which_the_answer_is_there_is_what_is_asked_for() -> None:
    verdict = exercise("00-1", "graph.finished", [ASKED, ANSWER])
    assert verdict.outcome is Outcome.HOLDS


def test_a_point_that_costs_the_answer_is_wrong_and_the_verdict_names_it() -> None:
    verdict = exercise("00-1", "agent.answered", [ASKED])
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings[0].startswith("agent.answered: message 1 (user)")


def test_a_kill_before_the_first_checkpoint_leaves_no_answer_either() -> None:
    verdict = exercise("00-1", "run.recorded", [])
    assert verdict.outcome is Outcome.VIOLATED
    assert "nothing yet" in verdict.findings[0]


def test_without_a_kill_or_an_answer_nobody_can_tell() -> None:
    assert exercise("00-1", "graph.finished", None).outcome is Outcome.UNKNOWN
    assert exercise("00-1").outcome is Outcome.UNKNOWN
