"""Each column of the matrix reacts to a planted wrong state, and to nothing else."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from lab.client import ApiError
from lab.crash.cell import Cell
from lab.crash.scenarios import SCENARIOS
from lab.crash.signs import ELSEWHERE, MISSING, SIGNS, Sign, as_text, summary
from lab.crash.verdicts import Evidence, judged
from lab.crash.windows import choose, windows
from lab.matrix import COLUMNS, RAW_COLUMNS, broken, cells, every_protection
from lab.stream import StreamEvent
from lab.witness import Effect, ReceivedCall
from lab.workspace import PROJECT
from sophos.failpoints import Point, parse_failpoints
from sophos.protections import Protection

THREE = SCENARIOS["three tools"]
AFTER_A_CANCEL = (Point.CANCEL_RECORDED, Point.OUTCOME_RECORDED, Point.END_ANNOUNCED)


def token(message: str, text: str, step: int = 1, kind: str = "answer") -> StreamEvent:
    data = {"text": text, "kind": kind, "step": step, "message_id": message}
    return StreamEvent(name="token", data=data, id=None)


def resume(step: int) -> StreamEvent:
    return StreamEvent(name="trace", data={"event": "resume", "step": step}, id=None)


def user(text: str) -> dict[str, Any]:
    return {"id": text, "role": "user", "content": text}


def effect(title: str, key: str | None = None) -> Effect:
    return Effect(n=1, tool="create_task", title=title, key=key, at=0)


def received(title: str) -> ReceivedCall:
    return ReceivedCall(n=1, tool="create_task", title=title)


def asks(*calls: str) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [{"function": {}} for _ in calls]}


RESULT = {"role": "tool", "content": "Done."}
ANSWER = {"id": "a/1", "role": "assistant", "content": "All done.", "reasoning": "Hm."}
WELL = Evidence(
    sent=("Do it",),
    status="interrupted",
    resumable=True,
    messages=[user("Do it"), ANSWER],
    shown=[token("a/1", "Hm.", kind="reasoning"), token("a/1", "All "), token("a/1", "done.")],
    received=[received("one"), received("two")],
    effects=[effect("one"), effect("two")],
    requests=[[user("Do it")], [user("Do it"), asks("one", "two"), RESULT, RESULT]],
    resumes=1,
    outcome="completed",
    seconds=1.5,
)
GOOD = judged(WELL)
LOST_TAIL = [token("a/1", "All ")]
SUPERSEDED = [token("z/1", "All"), resume(1), *WELL.shown]
NOT_SUPERSEDED = [token("z/1", "All"), *WELL.shown]
OTHER_STEP = [token("z/1", "All"), resume(2), *WELL.shown]


def test_a_crash_that_did_no_harm_is_judged_so() -> None:
    harm = ("messages_lost", "messages_doubled", "tools_repeated", "told_twice")
    assert [GOOD[column] for column in (*harm, "calls_unanswered")] == [0] * 5
    assert (GOOD["effects_per_call"], GOOD["seconds"]) == (1, 1.5)


@pytest.mark.parametrize(
    ("planted", "columns"),
    [
        ({"status": "running"}, {"status": "running"}),
        ({"resumable": False}, {"resumable": False}),
        ({"messages": [ANSWER]}, {"messages_lost": 1}),
        ({"messages": [user("Do i"), ANSWER]}, {"messages_lost": 1, "messages_doubled": 1}),
        ({"messages": [user("Do it"), user("Do it"), ANSWER]}, {"messages_doubled": 1}),
        ({"received": [received("one")] * 3}, {"tools_repeated": 2}),
        ({"effects": [effect("two"), effect("one"), effect("two")]}, {"effects_per_call": 2}),
        ({"effects": [effect("one", "k"), effect("one", "l")]}, {"effects_per_call": 2}),
        ({"effects": []}, {"effects_per_call": 0}),
        ({"shown": LOST_TAIL}, {}),
        ({"shown": SUPERSEDED}, {}),
        ({"shown": NOT_SUPERSEDED}, {"told_twice": 1}),
        ({"shown": OTHER_STEP}, {"told_twice": 1}),
        ({"shown": [*WELL.shown, token("a/1", "done.")]}, {"told_twice": 1}),
        ({"shown": [token("a/1", "Hm.Hm.", kind="reasoning")]}, {"told_twice": 1}),
        ({"requests": [[asks("one")]]}, {"calls_unanswered": 1}),
        ({"requests": [[asks("one", "two"), RESULT, user("Go on")]]}, {"calls_unanswered": 1}),
        ({"requests": [[asks("one", "two"), user("x"), RESULT, RESULT]]}, {"calls_unanswered": 2}),
        ({"requests": [[asks("one")] * 2, [asks("one")]]}, {"calls_unanswered": 2}),
        ({"requests": []}, {}),
        ({"resumes": 2}, {"resumes": 2}),
        ({"outcome": "failed"}, {"outcome": "failed"}),
    ],
)
def test_a_planted_state_shows_in_its_columns_alone(
    planted: dict[str, Any], columns: dict[str, Any]
) -> None:
    assert judged(replace(WELL, **planted)) == GOOD | columns


def test_a_row_has_every_column_and_no_other() -> None:
    cell = Cell(scenario="three tools", off=frozenset(), rule="run.recorded")
    assert list(cell.row(WELL)) == [*COLUMNS, *RAW_COLUMNS]


@pytest.mark.parametrize(
    "column", ["messages_lost", "messages_doubled", "told_twice", "calls_unanswered"]
)
def test_a_promise_is_broken_only_while_every_protection_is_on(column: str) -> None:
    cell = Cell(scenario="three tools", off=frozenset(), rule="run.recorded")
    off = Cell(scenario="three tools", off=frozenset({Protection.RECONCILE}), rule="run.recorded")
    good = cell.row(WELL)
    frame = pd.DataFrame([good, good | {column: 1}, off.row(WELL) | {column: 1}])
    assert list(broken(frame).index) == [1]


@pytest.mark.parametrize(
    ("scenario", "rule", "planted", "breaks"),
    [
        ("three tools", "tool.returned#1", {"tools_repeated": 1, "effects_per_call": 2}, False),
        ("three tools", "tool.recorded#3", {"tools_repeated": 1}, True),
        ("three tools", "step.saved(1)", {"effects_per_call": 2}, True),
        ("three tools", "tool.returned#1", {"tools_repeated": 2}, True),
        ("three tools", "tool.returned#1", {"effects_per_call": 3}, True),
        ("three tools with keys", "tool.returned#1", {"tools_repeated": 1}, False),
        ("three tools with keys", "tool.returned#1", {"effects_per_call": 2}, True),
        ("three tools", "run.recorded", {"status": "running"}, True),
        ("three tools", "run.recorded", {"outcome": "failed"}, True),
    ],
)
def test_a_call_is_made_again_at_the_open_window_alone_and_nothing_is_left_undone(
    scenario: str, rule: str, planted: dict[str, Any], breaks: bool
) -> None:
    row = Cell(scenario=scenario, off=frozenset(), rule=rule).row(WELL)
    assert len(broken(pd.DataFrame([row | planted]))) == breaks


def test_what_no_crash_explains_is_a_row_of_its_own_and_a_broken_promise() -> None:
    cell = Cell(scenario="three tools", off=frozenset(), rule="run.recorded")
    faulty = cell.fault(ApiError("NO_ANSWER", "It does not answer.", 0))
    frame = pd.DataFrame([cell.row(WELL), faulty], columns=[*COLUMNS, *RAW_COLUMNS])
    (row,) = broken(frame).to_dict("records")
    assert (row["status"], row["point"]) == ("fault", "run.recorded")
    assert "It does not answer." in row["outcome"]


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda scenario: scenario.name)
def test_every_window_is_a_rule_and_a_point_without_calls_has_none(scenario: Any) -> None:
    for point in Point:
        found = windows(scenario, point)
        reached = scenario.calls > 0 or not point.startswith("tool.")
        if scenario.cancelled or point is Point.CANCEL_RECORDED:
            reached = scenario.cancelled and point in AFTER_A_CANCEL
        assert bool(found) == reached
        for rule in found:
            (parsed,) = parse_failpoints(f"{rule}=kill")
            assert parsed.point is point


def test_three_tools_have_the_windows_that_come_out_the_same_twice() -> None:
    assert windows(THREE, Point.TOOL_CALLING) == tuple(f"tool.calling#{n}" for n in (1, 2, 3))
    assert windows(THREE, Point.TOOL_RETURNED) == ("tool.returned#1",)
    assert windows(THREE, Point.TOOL_RECORDED) == ("tool.recorded#3",)
    assert windows(THREE, Point.STEP_SAVED)[-1] == "step.saved(3)"
    assert windows(THREE, Point.AGENT_ASKING) == ("agent.asking#1", "agent.asking#2")


def test_whoever_goes_on_after_a_cancel_has_replies_that_end() -> None:
    stream = SCENARIOS["cancelled stream"]
    assert [step["do"] for step in stream.turns[0]] == ["think", "say", "hang"]
    assert [[step["do"] for step in turn] for turn in stream.rest(0)] == [["think", "say"]]
    assert THREE.rest(1) == [list(THREE.turns[1])]


def test_the_absence_of_each_protection_is_shown_by_a_crash_or_by_a_test_that_there_is() -> None:
    assert {sign.protection for sign in SIGNS} | set(ELSEWHERE) == set(Protection)
    assert not {sign.protection for sign in SIGNS} & set(ELSEWHERE)
    for _, test in ELSEWHERE.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (PROJECT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: f"{sign.protection}-{sign.rule}")
def test_a_sign_is_a_crash_that_there_is_and_its_two_sides_differ(sign: Sign) -> None:
    with_it, without_it = sign.cells()
    assert without_it.off - with_it.off == {sign.protection}
    (parsed,) = parse_failpoints(f"{sign.rule}=kill")
    assert sign.rule in windows(SCENARIOS[sign.scenario], parsed.point)
    assert sign.on.keys() == sign.off.keys()
    assert sign.on != sign.off


def test_an_absence_that_does_not_show_is_named() -> None:
    (sign,) = [sign for sign in SIGNS if sign.protection is Protection.IDEMPOTENCY_KEY]
    with_it, without_it = (cell.row(WELL) for cell in sign.cells())
    asked = [Protection.IDEMPOTENCY_KEY, Protection.DRAIN]
    shown = summary(asked, pd.DataFrame([with_it, without_it | dict(sign.off)]))
    assert list(shown["protection"]) == ["IDEMPOTENCY_KEY", "DRAIN"]
    assert list(shown["as_promised"]) == ["yes", "takes a shutdown, and no death"]
    assert "off: effects_per_call 2\n  as promised: yes\nDRAIN: off shows a run" in as_text(shown)
    for rows in ([with_it, without_it], [with_it | dict(sign.off), without_it | dict(sign.off)]):
        assert summary(asked, pd.DataFrame(rows))["as_promised"][0] == MISSING


def test_the_seed_chooses_and_nothing_else_does() -> None:
    def rules(seed: int, points: Any = None) -> dict[str, str]:
        made = cells(points, [()], "three tools", seed=seed)
        return {parse_failpoints(f"{cell.rule}=kill")[0].point: cell.rule for cell in made}

    assert rules(1) == rules(1)
    assert {**rules(1), **rules(1, ["step.saved"])} == rules(1)
    chosen = {choose(THREE, Point.STEP_SAVING, seed) for seed in range(50)}
    assert chosen == set(windows(THREE, Point.STEP_SAVING))


def test_several_seeds_give_each_pass_that_they_choose_one_row() -> None:
    made = cells(["step.saving", "run.recorded"], [()], "three tools", seed=range(50))
    rules = [cell.rule for cell in made]
    assert rules == [*windows(THREE, Point.STEP_SAVING), "run.recorded"]


def test_rows_come_by_scenario_then_protection_then_point() -> None:
    made = cells(
        ["run.recorded", "tool.returned#2"],
        [(), "CALL_TASKS", ["WRITE_BARRIER", "DELTA_CHECKPOINTS"]],
        ["one tool", "plain answer"],
        seed=0,
    )
    assert len(made) == 12
    both = cells(["run.recorded"], [()], "one tool", then=("resume", "message"), seed=0)
    assert [cell.then for cell in both] == ["resume", "message"]
    assert [cell.rule for cell in made[:2]] == ["run.recorded", "tool.returned#2"]
    assert made[2].off == {Protection.CALL_TASKS}
    assert made[4].off == {Protection.WRITE_BARRIER, Protection.DELTA_CHECKPOINTS}
    assert made[6].scenario == "plain answer"


def test_every_protection_is_switched_off_once_but_for_the_one_that_races_the_disk() -> None:
    first, *others = every_protection()
    assert first == ()
    assert [names[0] for names in others] == [
        name for name in Protection if name is not Protection.STEP_WAITS
    ]
