"""Whether saving kept up with doing: seen to hold, to be violated, and to be unknown."""

from lab.check import Outcome
from lab.order import saved_first
from lab.stream import StreamEvent


def told(*events: tuple[str, int]) -> list[StreamEvent]:
    return [
        StreamEvent(name="trace", data={"event": what, "step": step, "node": "agent"}, id=None)
        for what, step in events
    ]


KEPT = told(("enter", 1), ("leave", 1), ("enter", 2), ("call", 2), ("leave", 2), ("enter", 3))
TOKEN = StreamEvent(name="token", data={"kind": "answer"}, id=None)


def test_a_step_that_began_after_the_one_before_was_saved_is_in_order() -> None:
    verdict = saved_first([*KEPT[:1], TOKEN, *KEPT[1:]], "run 1")
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.findings == ("run 1: 3 steps",)


def test_a_step_that_began_too_early_is_named() -> None:
    verdict = saved_first(told(("enter", 1), ("enter", 2), ("leave", 1), ("leave", 2)), "run 1")
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == ("run 1: step 2 (agent) began, and step 1 was not saved",)


def test_a_first_step_alone_has_nothing_before_it() -> None:
    assert saved_first(told(("enter", 3), ("leave", 3))).outcome is Outcome.UNKNOWN
    assert saved_first([]).outcome is Outcome.UNKNOWN
