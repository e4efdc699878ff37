import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophos.errors import AgentFailure, StartupError
from sophos.failpoints import Action, Failpoints, Point, parse_failpoints


def test_a_rule_names_point_selector_nth_count_and_action() -> None:
    [first, second] = parse_failpoints(
        "tool.returned(memory__create_entities)#2=kill; agent.streaming@40=sleep(250)"
    )
    assert (first.point, first.selector, first.nth) == (
        Point.TOOL_RETURNED,
        "memory__create_entities",
        2,
    )
    assert first.action is Action.KILL
    assert (second.count, second.action, second.number) == (40, Action.SLEEP, 250)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("tool.returned", "is not point"),
        ("tool.returned=", "is not point"),
        ("tool.vanished=kill", "no point 'tool.vanished'"),
        ("tool.returned=explode", "no action 'explode'"),
        ("tool.returned=sleep", "needs a number"),
        ("tool.returned=kill(3)", "takes no number"),
        ("tool.returned#0=kill", "counts from 1"),
        ("tool.returned=exit(256)", "at most 255"),
        ("tool.returned=sleep(99999999999999999999)", "at most 86400000"),
        ("run.recorded=kill; oops", "'oops'"),
    ],
)
def test_a_malformed_rule_is_refused_and_named(text: str, named: str) -> None:
    with pytest.raises(StartupError, match="SOPHOS_FAILPOINTS") as refused:
        parse_failpoints(text)
    assert named in refused.value.message


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused_with_our_error(text: str) -> None:
    try:
        parse_failpoints(text)
    except StartupError as refused:
        assert "SOPHOS_FAILPOINTS" in refused.message  # noqa: PT017 - either outcome is right


def test_a_point_that_is_not_named_passes() -> None:
    failpoints = Failpoints(parse_failpoints("tool.returned(a__b)=raise"))
    failpoints.hit(Point.TOOL_RETURNED, "a__c")
    failpoints.hit(Point.TOOL_CALLING, "a__b")
    with pytest.raises(AgentFailure):
        failpoints.hit(Point.TOOL_RETURNED, "a__b")


def test_the_nth_match_acts_and_no_other() -> None:
    failpoints = Failpoints(parse_failpoints("step.saved#2=raise"))
    failpoints.hit(Point.STEP_SAVED, "1")
    with pytest.raises(AgentFailure):
        failpoints.hit(Point.STEP_SAVED, "2")
    failpoints.hit(Point.STEP_SAVED, "3")


def test_a_count_is_waited_for() -> None:
    failpoints = Failpoints(parse_failpoints("agent.streaming@3=raise"))
    failpoints.hit(Point.AGENT_STREAMING, "answer", 1)
    failpoints.hit(Point.AGENT_STREAMING, "answer", 2)
    with pytest.raises(AgentFailure):
        failpoints.hit(Point.AGENT_STREAMING, "answer", 3)


def test_a_hit_is_on_disk_before_the_action(tmp_path: Path) -> None:
    log = tmp_path / "hits.jsonl"
    failpoints = Failpoints(parse_failpoints("agent.answered=raise"), log)
    with pytest.raises(AgentFailure):
        failpoints.hit(Point.AGENT_ANSWERED, "1")
    [line] = log.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["point"] == "agent.answered"


def test_every_rule_of_a_point_counts_a_pass_at_which_another_one_raises() -> None:
    failpoints = Failpoints(parse_failpoints("step.saved#1=raise; step.saved#2=raise"))
    for step in ("1", "2"):
        with pytest.raises(AgentFailure):
            failpoints.hit(Point.STEP_SAVED, step)
    failpoints.hit(Point.STEP_SAVED, "3")


def test_a_log_that_cannot_be_written_refuses_to_start(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="SOPHOS_FAILPOINT_LOG cannot be written: No such file"):
        Failpoints(parse_failpoints("agent.answered=stop"), tmp_path / "nowhere" / "hits.jsonl")
    Failpoints((), tmp_path / "nowhere" / "hits.jsonl")


def test_nothing_is_armed_unless_asked_for() -> None:
    assert not Failpoints().armed
    assert Failpoints(parse_failpoints("run.recorded=stop")).armed
