"""What a thread can tell of its attempts: seen to hold, to be violated, and to be unknown."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from lab.attempts import attempts_in_thread, stop_met
from lab.check import Outcome, Verdict

HOLDS, VIOLATED, UNKNOWN = Outcome.HOLDS, Outcome.VIOLATED, Outcome.UNKNOWN


def runs(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["run", "status", "id"])


def steps(*rows: tuple[int, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["step", "run"])


ONE = ("run 1", "cancelled", "x")
TWO = ("run 2", "completed", "y")
BOTH = runs(ONE, TWO)
STEPS = steps((-1, "run 1"), (0, "run 1"), (1, "run 2"))


@pytest.mark.parametrize(
    ("judge", "outcome", "finding"),
    [
        (lambda: attempts_in_thread(BOTH, STEPS), HOLDS, "2 runs"),
        (
            lambda: attempts_in_thread(BOTH, STEPS.head(2)),
            VIOLATED,
            "run 2 left no checkpoint (row 1)",
        ),
        (
            lambda: attempts_in_thread(runs(ONE), STEPS),
            VIOLATED,
            "step 1 names run 2, which is no row",
        ),
        (lambda: attempts_in_thread(runs(), STEPS), UNKNOWN, "missing: a run on record"),
        (lambda: attempts_in_thread(BOTH, steps()), UNKNOWN, "missing: a checkpoint of the thread"),
        (lambda: stop_met(["x"], BOTH), HOLDS, "1 stopped"),
        (
            lambda: stop_met(["y"], BOTH),
            VIOLATED,
            "run 1 was stopped, and the stop was meant for another (row 0)",
        ),
        (lambda: stop_met(["y"], runs(TWO)), VIOLATED, "run 2 was not stopped"),
        (lambda: stop_met([], BOTH.tail(1)), UNKNOWN, "missing: the row of the attempt"),
        (lambda: stop_met(["z"], BOTH.tail(1)), UNKNOWN, "missing: the row of the attempt"),
        (lambda: stop_met(["x"], BOTH[["run"]]), UNKNOWN, "missing: the ids of the runs"),
    ],
)
def test_each_check_gives_all_three_values_and_names_the_row(
    judge: Callable[[], Verdict], outcome: Outcome, finding: str
) -> None:
    verdict: Any = judge()
    assert verdict.outcome is outcome
    assert finding in verdict.findings[0]
