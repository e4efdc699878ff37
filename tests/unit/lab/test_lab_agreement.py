"""Each check of an agreement is seen to hold, to be violated by a planted state, and to be unknown."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from lab.agreement import calls_answered, effects_on_record, interrupted_has_work
from lab.check import Outcome, Verdict

HOLDS, VIOLATED, UNKNOWN = Outcome.HOLDS, Outcome.VIOLATED, Outcome.UNKNOWN

ASKS: dict[str, Any] = {
    "role": "assistant",
    "tool_calls": [{"id": "a", "name": "tasks__list_tasks"}, {"id": "b", "name": "tasks__add"}],
}
A, B = ({"role": "tool", "tool_call_id": call} for call in "ab")


def outlook(*rows: tuple[str, str, bool]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["what", "status", "resumable"])


EFFECTS = pd.DataFrame({"title": ["tea", "tea"]})
WRITES = pd.DataFrame({"what": ["assistant asks for x (call 1)", "result of call 1: success"]})

CASES: list[tuple[Callable[[], Verdict], Outcome, str]] = [
    (lambda: calls_answered([ASKS, A, B]), HOLDS, "2 calls"),
    (lambda: calls_answered([ASKS, A]), VIOLATED, "message 1 asks for tasks__add: no results"),
    (lambda: calls_answered([ASKS, A, B, B]), VIOLATED, "tasks__add: 2 results"),
    (lambda: calls_answered([{"role": "user"}]), UNKNOWN, "a tool call on record"),
    (lambda: calls_answered(None), UNKNOWN, "a tool call on record"),
    (
        lambda: interrupted_has_work(
            outlook(("a", "interrupted", True), ("b", "completed", False))
        ),
        HOLDS,
        "1 interrupted",
    ),
    (
        lambda: interrupted_has_work(
            outlook(("a", "interrupted", True), ("b", "interrupted", False))
        ),
        VIOLATED,
        "b: nothing is left (row 1)",
    ),
    (
        lambda: interrupted_has_work(outlook(("a", "failed", True))),
        UNKNOWN,
        "a run that was interrupted",
    ),
    (
        lambda: effects_on_record(EFFECTS[:1], WRITES),
        HOLDS,
        "tea: effects in the world: 1, results",
    ),
    (
        lambda: effects_on_record(EFFECTS[:1], WRITES[:1]),
        VIOLATED,
        "tea: effects in the world: 1, results on record: 0",
    ),
    (lambda: effects_on_record(EFFECTS, WRITES), VIOLATED, "world: 2, results on record: 1"),
    (lambda: effects_on_record(EFFECTS[:0], WRITES[:1]), UNKNOWN, "an effect, or a result"),
]


@pytest.mark.parametrize(("judge", "outcome", "finding"), CASES)
def test_an_agreement_tells_the_right_state_from_the_planted_one_and_from_none(
    judge: Callable[[], Verdict], outcome: Outcome, finding: str
) -> None:
    verdict = judge()
    assert verdict.outcome is outcome, verdict
    assert finding in "\n".join(verdict.findings)
