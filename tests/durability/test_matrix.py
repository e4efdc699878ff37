"""The crash matrix with real servers: every point, killed, restarted, resumed; nothing lost or doubled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

from lab.crash.cell import NOT_PASSED, Cell
from lab.matrix import broken, crashes, matrix
from sophos.failpoints import Point, parse_failpoints
from sophos.protections import Protection

# What these two points come after is the whole run: there is nothing left to do.
FINISHED: Final = {Point.GRAPH_FINISHED, Point.OUTCOME_RECORDED, Point.END_ANNOUNCED}
OPEN_WINDOW: Final = Point.TOOL_RETURNED
KEYED: Final = [
    *("tool.calling#2", "tool.returned#1", "tool.recorded#3", "step.saving(2)", "agent.asking#2")
]

# A crash is seconds of work, and a fixture makes thirteen: the bound is for a hang, not for speed.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def frame(root: Path) -> pd.DataFrame:
    """Three tools in one turn, killed at every point, with every protection on."""
    return matrix(root=root, raw=True)


def point(rule: str) -> Point:
    return parse_failpoints(f"{rule}=kill")[0].point


def at(frame: pd.DataFrame, *points: Point) -> pd.DataFrame:
    return frame[frame["point"].map(point).isin(points)]


def test_every_point_is_hit_and_kills(frame: pd.DataFrame, root: Path) -> None:
    logs = root.glob("*/processes/*.hits.jsonl")
    lines = [line for log in logs for line in log.read_text(encoding="utf-8").splitlines()]
    hits = [json.loads(line) for line in lines]
    assert {hit["point"] for hit in hits} == set(Point)
    assert {hit["action"] for hit in hits} == {"kill"}
    assert list(frame["point"].map(point)) == list(Point)


def test_no_message_is_lost_or_doubled_and_no_text_told_twice(frame: pd.DataFrame) -> None:
    assert broken(frame).empty
    harm = frame[["messages_lost", "messages_doubled", "told_twice"]]
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
    frame = matrix(KEYED, scenario="three tools with keys", root=root)
    assert list(frame["effects_per_call"]) == [1] * len(KEYED)
    assert list(frame["tools_repeated"]) == [0, 1, 0, 0, 0]
    assert broken(frame).empty


def off(protection: Protection, scenario: str, rule: str) -> Cell:
    return Cell(scenario=scenario, off=frozenset({protection}), rule=rule)


def test_what_a_protection_prevents_shows_without_it(root: Path) -> None:
    shows: dict[Cell, dict[str, Any]] = {
        off(Protection.IDEMPOTENCY_KEY, "three tools with keys", "tool.returned#1"): {
            "effects_per_call": 2
        },
        off(Protection.RECONCILE, "plain answer", "run.recorded"): {"messages_lost": 1},
        off(Protection.RECONCILE, "plain answer", "graph.finished"): {
            "status": "interrupted",
            "resumable": False,
        },
        off(Protection.SYNC_DURABILITY, "one tool", "agent.asking#2"): {
            "tools_repeated": 1,
            "effects_per_call": 2,
        },
        off(Protection.SYNC_DURABILITY, "one tool", "tool.recorded#1"): {"status": NOT_PASSED},
    }
    rows = crashes(list(shows), root=root).to_dict("records")
    for row, wanted in zip(rows, shows.values(), strict=True):
        assert row["protection_off"] in Protection
        assert {column: row[column] for column in wanted} == wanted
