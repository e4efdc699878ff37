"""Every check is seen to hold, to be violated by a planted wrong state, and to be unknown."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from lab.check import Outcome, Verdict
from lab.promises import (
    answered,
    calls_not_repeated,
    effects_once,
    messages_kept,
    nothing_running,
    one_run_per_request,
    same_record,
    stream_whole,
)
from lab.resources import growth_linear, no_process_left
from lab.stream import StreamEvent

HOLDS, VIOLATED, UNKNOWN = Outcome.HOLDS, Outcome.VIOLATED, Outcome.UNKNOWN


def said(role: str, content: str, **more: object) -> dict[str, object]:
    return {"role": role, "content": content, **more}


def frame(columns: str, *rows: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns.split())


def event(n: int | None, name: str = "token", **data: Any) -> StreamEvent:
    return StreamEvent(name=name, data=data, id=f"r:{n}" if n else None)


def tool(what: str, call: str, step: int = 2) -> StreamEvent:
    data = {"event": what, "step": step, "name": "fetch__fetch", "data": {"id": call}}
    return StreamEvent(name="trace", data=data, id=None)


RECORD = [said("user", "Hi"), said("assistant", "Hello"), said("user", "Bye")]
VISITS = frame("path status", ("/a", 200), ("/b", 200))
MANY = frame("path status", *((f"/{name}", 200) for name in "abcd"))
TWICE = frame("path status", ("/a", 200), ("/b", 200), ("/a", 200))
RUNS = frame(
    "run kind status owner id",
    ("run 1", "message", "completed", "server#1", "x"),
    ("run 2", "resume", "running", "server#2", "y"),
)
WHOLE = [event(1), event(2), event(3, "end", status="completed")]
PROCESSES = frame("process started_by pid", ("server#1", "notebook", 7), ("keeper", "server#1", 8))
BEFORE = [said("user", "Hi", run="r"), said("assistant", "Hello", run="r")]

CASES: list[tuple[Callable[[], Verdict], Outcome, str]] = [
    (lambda: messages_kept(["Hi", "Bye"], RECORD), HOLDS, "2 sent, 2 on record"),
    (lambda: messages_kept(["Hi", "Bye", "So?"], RECORD), VIOLATED, "message 3 is lost: 'So?'"),
    (lambda: messages_kept(["Hi"], RECORD), VIOLATED, "message 3 of the record was never sent"),
    (lambda: messages_kept(["Hi"], [*RECORD[:2], RECORD[0]]), VIOLATED, "twice (messages 1, 3)"),
    (lambda: messages_kept(["Hi", "Hi"], RECORD[:2]), VIOLATED, "sent twice, on record once"),
    (lambda: messages_kept(["Bye", "Hi"], RECORD), VIOLATED, "another order"),
    (lambda: messages_kept(["Hi"], []), VIOLATED, "message 1 is lost"),
    (lambda: messages_kept([], RECORD[1:2]), UNKNOWN, "the messages that were sent"),
    (lambda: messages_kept(["Hi"], None), UNKNOWN, "the record of the conversation"),
    (lambda: answered(RECORD[:2]), HOLDS, "message 2 is the answer"),
    (lambda: answered(RECORD), VIOLATED, "message 3 (user) is the last one"),
    (lambda: answered([said("tool", "A page")]), VIOLATED, "message 1 (tool)"),
    (lambda: answered([said("assistant", "", tool_calls=["x"])]), VIOLATED, "no answer"),
    (lambda: answered([said("assistant", "")]), VIOLATED, "no answer"),
    (lambda: answered([]), UNKNOWN, "a message on record"),
    (lambda: answered(None), UNKNOWN, "a message on record"),
    (lambda: effects_once(VISITS, "path"), HOLDS, "2 effects: /a, /b"),
    (lambda: effects_once(MANY, "path"), HOLDS, "4 effects"),
    (lambda: effects_once(VISITS[:0], "path", []), HOLDS, "0 effects"),
    (lambda: effects_once(TWICE, "path"), VIOLATED, "/a: twice (rows 0, 2)"),
    (lambda: effects_once(TWICE, ["path", "status"]), VIOLATED, "/a 200: twice"),
    (lambda: effects_once(VISITS, "path", ["/a", "/b"]), HOLDS, "2 effects"),
    (lambda: effects_once(VISITS, "path", ["/a", "/b", "/c"]), VIOLATED, "/c: never"),
    (lambda: effects_once(VISITS, "path", ["/a"]), VIOLATED, "/b: was not asked for (row 1)"),
    (lambda: effects_once(VISITS[:0], "path", ["/a"]), VIOLATED, "/a: never"),
    (lambda: effects_once(VISITS[:0], "path"), UNKNOWN, "an effect that a witness saw"),
    (lambda: effects_once(VISITS, "key"), UNKNOWN, "a column 'key' of the witness"),
    (
        lambda: calls_not_repeated(
            {
                "run 1": [tool("call", "a"), tool("result", "a"), tool("call", "b")],
                "run 2": [tool("call", "b"), tool("result", "b")],
            }
        ),
        HOLDS,
        "2 finished calls in 2 runs",
    ),
    (
        lambda: calls_not_repeated(
            {"run 1": [tool("call", "a"), tool("result", "a")], "run 2": [tool("call", "a")]}
        ),
        VIOLATED,
        "run 2, step 2: fetch__fetch again (call); it had ended in run 1, step 2: fetch__fetch",
    ),
    (lambda: calls_not_repeated({"run 1": [tool("call", "a")]}), UNKNOWN, "a tool result"),
    (lambda: nothing_running(RUNS[:1]), HOLDS, "1 run"),
    (lambda: nothing_running(RUNS), VIOLATED, "run 2 is still running (row 1, owner server#2)"),
    (lambda: nothing_running(RUNS[:0]), UNKNOWN, "a run on record"),
    (lambda: one_run_per_request(["x", "y", "y"], RUNS), HOLDS, "2 requests, 2 runs"),
    (lambda: one_run_per_request(["x"], RUNS), VIOLATED, "run 2 was asked for by nobody (row 1"),
    (lambda: one_run_per_request(["x", "y", "z"], RUNS), VIOLATED, "request 3 has no run"),
    (
        lambda: one_run_per_request(["x", "y"], pd.concat([RUNS, RUNS[:1]], ignore_index=True)),
        VIOLATED,
        "run 1 stands twice (row 2)",
    ),
    (lambda: one_run_per_request([], RUNS[:0]), UNKNOWN, "a request that was accepted"),
    (lambda: one_run_per_request(["x"], RUNS.drop(columns="id")), UNKNOWN, "raw=True"),
    (lambda: stream_whole(WHOLE), HOLDS, "3 events"),
    (lambda: stream_whole([event(1), *WHOLE[2:]]), VIOLATED, "after event 1 came event 3"),
    (lambda: stream_whole([WHOLE[0], *WHOLE]), VIOLATED, "after event 1 came event 1"),
    (lambda: stream_whole(WHOLE[1:]), VIOLATED, "after event 0 came event 2"),
    (lambda: stream_whole([event(None, "gap"), *WHOLE]), VIOLATED, "something is gone (event 1)"),
    (lambda: stream_whole(WHOLE[:2], "run 1"), UNKNOWN, "cut after event 2"),
    (lambda: stream_whole([]), UNKNOWN, "numbered events"),
    (lambda: same_record(BEFORE, list(BEFORE)), HOLDS, "2 messages"),
    (
        lambda: same_record(BEFORE, [BEFORE[0], said("assistant", "Hallo", run="r")]),
        VIOLATED,
        "message 2 (assistant): content differs",
    ),
    (lambda: same_record(BEFORE, BEFORE[:1]), VIOLATED, "2 messages before, 1 after"),
    (lambda: same_record(BEFORE, None), UNKNOWN, "the record after"),
    (lambda: same_record([], BEFORE), UNKNOWN, "the record before"),
    (lambda: no_process_left(PROCESSES, {1}), HOLDS, "2 processes that had run"),
    (lambda: no_process_left(PROCESSES, {8}), VIOLATED, "keeper, started by server#1, is alive"),
    (lambda: no_process_left(PROCESSES[:0], {8}), UNKNOWN, "a process that had run"),
    (lambda: no_process_left(PROCESSES.drop(columns="pid")), UNKNOWN, "raw=True"),
    (lambda: growth_linear({100: 100, 200: 210, 400: 440}), HOLDS, "100 → 200 turns: × 2.1"),
    (lambda: growth_linear({100: 100, 200: 200, 400: 800}), VIOLATED, "200 → 400 turns: × 4.0"),
    (lambda: growth_linear({1: 101, 2: 104}, empty=100), VIOLATED, "1 → 2 turns: × 4.0"),
    (lambda: growth_linear({100: 100, 150: 150}), UNKNOWN, "twice the turns"),
]


@pytest.mark.parametrize(("judge", "outcome", "finding"), CASES)
def test_a_check_tells_the_right_state_from_the_planted_one_and_from_none(
    judge: Callable[[], Verdict], outcome: Outcome, finding: str
) -> None:
    verdict = judge()
    assert verdict.outcome is outcome, verdict
    assert finding in "\n".join(verdict.findings)
