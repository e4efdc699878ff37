"""The exercise of lesson 02 tells a right answer from a wrong one and from one that was not tried."""

import pandas as pd

from lab.check import Outcome
from lab.exercise import exercise

ANSWERED = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
RUNS = pd.DataFrame({"run": ["run 1", "run 2"], "status": ["interrupted", "completed"]})


def steps(*runs: str) -> pd.DataFrame:
    return pd.DataFrame({"step": range(-1, len(runs) - 1), "run": runs}, columns=["step", "run"])


def test_an_attempt_that_no_checkpoint_names_is_what_is_asked_for() -> None:
    verdict = exercise("02-1", "point", RUNS, steps("run 2", "run 2", "run 2"), ANSWERED)
    assert verdict.outcome is Outcome.HOLDS


def test_an_attempt_that_left_its_input_is_told_by_step() -> None:
    verdict = exercise("02-1", "point", RUNS, steps("run 1", "run 1", "run 2"), ANSWERED)
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == ("point: step -1 names run 1", "point: step 0 names run 1")


def test_a_message_without_its_answer_is_no_solution() -> None:
    verdict = exercise("02-1", "point", RUNS, steps("run 2", "run 2"), ANSWERED[:1])
    assert verdict.outcome is Outcome.VIOLATED
    assert "no answer" in verdict.findings[0]


def test_one_attempt_or_no_record_proves_nothing() -> None:
    alone = exercise("02-1", "point", RUNS.tail(1), steps("run 1"), ANSWERED)
    assert alone.outcome is Outcome.UNKNOWN
    nothing = exercise("02-1", "point", RUNS, steps(), [])
    assert nothing.outcome is Outcome.UNKNOWN
