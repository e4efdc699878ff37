"""The crash matrix with real servers: every point, killed, restarted, resumed; nothing lost or doubled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pandas as pd
import psutil
import pytest

from lab.crash.progress import Progress
from lab.crash.scenarios import SCENARIOS
from lab.crash.signs import NOT_HERE, cells_of, summary
from lab.matrix import Stopped, broken, cells, crashes, matrix
from sophos.failpoints import Point, parse_failpoints
from sophos.protections import Protection

# What these two points come after is the whole run: there is nothing left to do.
FINISHED: Final = {Point.GRAPH_FINISHED, Point.OUTCOME_RECORDED, Point.END_ANNOUNCED}
OPEN_WINDOW: Final = Point.TOOL_RETURNED
KEYED: Final = [
    *("tool.calling#2", "tool.returned#1", "tool.recorded#3", "step.saving(2)", "agent.asking#2")
]

# The scenarios that the other tests here make a crash of.
OFTEN: Final = {
    *("plain answer", "one tool", "three tools", "three tools with keys", "dying tool server"),
    *("slow tool beside a quick one", "cancelled stream"),
}

# A crash is seconds of work, and a fixture makes thirteen: the bound is for a hang, not for speed.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def cancelled(root: Path) -> pd.DataFrame:
    """A stream that its viewer cancels, killed wherever a cancel passes by."""
    return matrix(scenario="cancelled stream", root=root, raw=True)


@pytest.fixture(scope="module")
def frame(root: Path) -> pd.DataFrame:
    """Three tools in one turn, killed at every point, with every protection on."""
    return matrix(root=root, raw=True)


def point(rule: str) -> Point:
    return parse_failpoints(f"{rule}=kill")[0].point


def at(frame: pd.DataFrame, *points: Point) -> pd.DataFrame:
    return frame[frame["point"].map(point).isin(points)]


def test_every_point_is_hit_and_kills(
    frame: pd.DataFrame, cancelled: pd.DataFrame, root: Path
) -> None:
    logs = root.glob("*/processes/*.hits.jsonl")
    lines = [line for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
    hits = [json.loads(line) for line in lines]
    assert {hit["point"] for hit in hits} == set(Point)
    assert {hit["action"] for hit in hits} == {"kill"}
    passed = [*frame["point"], *cancelled["point"]]
    assert {point(rule) for rule in passed} == set(Point)


def test_no_message_is_lost_or_doubled_and_no_text_told_twice(frame: pd.DataFrame) -> None:
    assert broken(frame).empty
    harm = frame[["messages_lost", "messages_doubled", "told_twice", "calls_unanswered"]]
    assert (harm == 0).all(axis=None)


def test_a_call_has_two_effects_only_in_the_open_window(frame: pd.DataFrame) -> None:
    window = at(frame, OPEN_WINDOW)
    assert list(window["effects_per_call"]) == [2]
    assert list(window["tools_repeated"]) == [1]
    others = frame.drop(window.index)
    assert (others["effects_per_call"] == 1).all()
    assert (others["tools_repeated"] == 0).all()


def test_what_is_unfinished_is_resumed_once_and_what_is_finished_is_not(
    frame: pd.DataFrame,
) -> None:
    done = frame["point"].map(point).isin(FINISHED) | (frame["point"] == "step.saved(3)")
    assert set(frame[done]["status"]) == {"completed"}
    assert set(frame[~done]["status"]) == {"interrupted"}
    assert (frame["resumable"] == ~done).all()
    assert (frame["resumes"] == (~done).astype(int)).all()
    assert set(frame["outcome"]) == {"completed"}


def test_the_same_seed_gives_the_same_rows(frame: pd.DataFrame, root: Path) -> None:
    again = matrix(["agent.streaming", "step.saved"], root=root)
    before = at(frame, Point.AGENT_STREAMING, Point.STEP_SAVED)[list(again.columns)]
    pd.testing.assert_frame_equal(again, before.reset_index(drop=True))


def test_a_call_with_a_key_has_one_effect_wherever_the_process_dies(root: Path) -> None:
    frame = matrix(KEYED, scenario="three tools with keys", root=root, raw=True)
    assert list(frame["effects_per_call"]) == [1] * len(KEYED)
    assert list(frame["tools_repeated"]) == [0, 1, 0, 0, 0]
    assert broken(frame).empty


def test_whatever_is_cancelled_is_cancelled_wherever_the_process_dies(
    cancelled: pd.DataFrame,
) -> None:
    assert list(cancelled["point"]) == ["cancel.recorded", "outcome.recorded", "end.announced"]
    assert set(cancelled["status"]) == {"cancelled"}
    assert (cancelled["resumable"] & (cancelled["outcome"] == "completed")).all()
    assert broken(cancelled).empty


def test_a_viewer_that_comes_back_finds_the_server_dead_and_the_crash_is_counted(
    root: Path,
) -> None:
    frame = matrix(["input.saved", "step.saved(0)"], scenario="long stream", root=root, raw=True)
    assert list(frame["status"]) == ["interrupted"] * 2
    assert list(frame["outcome"]) == ["completed"] * 2


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name not in OFTEN])
def test_every_scenario_comes_through_a_crash_in_the_middle_of_its_last_reply(
    root: Path, scenario: str
) -> None:
    frame = matrix(["agent.answered"], scenario=scenario, root=root, raw=True, seed=2)
    assert list(frame["outcome"]) == ["completed"]
    assert broken(frame).empty


def test_a_new_message_instead_loses_nothing_and_repeats_no_call(root: Path) -> None:
    frame = matrix(["tool.returned", "run.recorded"], then="message", root=root, raw=True)
    assert list(frame["status"]) == ["interrupted", "interrupted"]
    # What had its effect and is on no record is answered for with an error, and not made again.
    assert list(frame["tools_repeated"]) == [0, 0]
    assert list(frame["effects_per_call"]) == [1, 0]
    assert set(frame["resumes"]) == {0}
    assert broken(frame).empty


def test_the_absence_of_each_protection_shows_what_is_promised(root: Path) -> None:
    every = list(Protection)
    shown = summary(every, crashes(cells_of(every), root=root))
    assert set(shown["as_promised"][shown["on"] != NOT_HERE]) == {"yes"}, shown.to_string()


def test_who_stops_it_keeps_the_rows_that_were_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt  # as Python does while rows are waited for

    monkeypatch.setattr(Progress, "made", stop)
    wanted = cells(None, [()], "plain answer", seed=0)
    with pytest.raises(Stopped) as stopped:
        crashes(wanted, root=tmp_path)
    [row] = stopped.value.rows.values()
    assert row["outcome"] == "completed"
    assert str(tmp_path) not in str([p.cmdline() for p in psutil.Process().children(True)])
