"""One conversation's history on one clock, from planted evidence."""

from typing import Any

from lab.life import Life
from lab.stream import StreamEvent
from lab.views.moments import Effect, RunSpan, SavedStep, history

KILLED = Life(name="server", label="server#1", began=0, ended=5, status=-9)
SECOND = Life(name="server", label="server#2", began=6, ended=None, status=None)


def run(number: int, owner: str, began: float, ended: float | None, status: str) -> RunSpan:
    return RunSpan(
        name=f"run {number}",
        kind="message" if number == 1 else "resume",
        resume_of="" if number == 1 else "run 1",
        status=status,
        owner=owner,
        began=began,
        ended=ended,
    )


def token(step: int) -> StreamEvent:
    data: dict[str, Any] = {"step": step, "kind": "answer", "text": "a", "message_id": "m"}
    return StreamEvent(name="token", data=data, id=None)


# Recovery, at 6.5, is when the first run's end was recorded: not when it ended.
RUNS = [run(1, "server#1", 1, 6.5, "interrupted"), run(2, "server#2", 7, 9, "completed")]
STEPS = [SavedStep(run="run 1", step=0, at=2), SavedStep(run="run 2", step=1, at=9.0004)]


def test_a_crash_ends_the_run_and_its_unsaved_step_where_the_process_ended() -> None:
    past = history(RUNS, STEPS, [KILLED, SECOND], {"run 1": [token(1)]}, [])
    cut = [(item.text, item.start, item.end) for item in past.items if item.cut]
    assert cut == [
        ("server#1: killed", 1, 5),
        ("run 1: interrupted", 1, 5),
        ("step 1 not saved", 2, 5),
        ("step 1: answer", 2, 5),
    ]
    assert [moment.text for moment in past.moments if moment.crash] == ["server#1 is killed"]


def test_moments_come_in_the_order_in_which_they_must_have_come() -> None:
    past = history(RUNS, STEPS, [KILLED, SECOND], {}, [])
    assert [moment.text for moment in past.moments] == [
        "run 1 starts (message)",
        "step 0 is saved",
        "server#1 is killed",
        "server#2 starts",
        "run 2 starts (resume of run 1)",
        "step 1 is saved",
        # Recorded in whole milliseconds, before its last checkpoint as the clocks have it.
        "run 2 is completed",
    ]


def test_an_effect_lies_between_two_moments_and_others_are_left_out() -> None:
    effects = [Effect(what="before", at=0.5), Effect(what="GET /", at=3), Effect(what="x", at=99)]
    past = history(RUNS, STEPS, [KILLED, SECOND], {}, effects)
    assert [item.text for item in past.items if item.lane == "effect"] == ["GET /"]
    assert past.place(3) == 1.5
    assert past.place(2) == 1


def test_a_run_that_works_has_no_end_yet() -> None:
    past = history([run(1, "server#2", 7, None, "running")], [], [SECOND], {}, [])
    assert [moment.text for moment in past.moments] == ["run 1 starts (message)"]
    assert not any(item.cut for item in past.items)


def test_a_conversation_without_runs_has_no_history() -> None:
    assert history([], STEPS, [KILLED], {}, []).moments == ()


def frozen(*spans: tuple[float, float | None], killed: bool = True) -> Life:
    if killed:
        return Life(name="server", label="server#1", began=0, ended=5, status=-9, frozen=spans)
    return Life(name="server", label="server#1", began=0, ended=None, status=None, frozen=spans)


def test_a_frozen_process_stands_until_it_is_thawed_or_killed() -> None:
    past = history(RUNS, STEPS, [frozen((2.5, 3), (4, 5)), SECOND], {}, [])
    stood = [(item.start, item.end, item.cut) for item in past.items if item.row == "frozen"]
    assert stood == [(2.5, 3, False), (4, 5, True)]
    assert [moment.text for moment in past.moments][2:6] == [
        "server#1 is frozen",
        "server#1 is thawed",
        "server#1 is frozen",
        "server#1 is killed",
    ]
    assert [moment.at for moment in past.moments if moment.freeze] == [2.5, 4]


def test_a_freeze_that_lasts_is_the_last_that_is_known() -> None:
    working = [run(1, "server#1", 1, None, "running")]
    past = history(working, STEPS[:1], [frozen((4, None), killed=False)], {}, [])
    (stands,) = (item for item in past.items if item.row == "frozen")
    assert (stands.text, stands.start, stands.end) == ("server#1: frozen", 4, 4)
    assert past.moments[-1].text == "server#1 is frozen"


def test_a_freeze_before_the_conversation_or_after_its_end_is_left_out() -> None:
    late = Life(
        name="server", label="server#2", began=6, ended=None, status=None, frozen=((12, 13),)
    )
    past = history(RUNS, STEPS, [frozen((0.2, 0.5)), late], {}, [])
    assert not any(item.row == "frozen" for item in past.items)
    assert not any(moment.freeze for moment in past.moments)


def test_each_witness_has_a_row_of_its_own() -> None:
    effects = [Effect(what="GET /", at=3), Effect(what="create_task: walk", at=3, row="tasks")]
    past = history(RUNS, STEPS, [KILLED, SECOND], {}, effects)
    rows = [(item.row, item.text) for item in past.items if item.lane == "effect"]
    assert rows == [("effects", "GET /"), ("tasks", "create_task: walk")]
