"""A thread read with SQL says what LangGraph wrote, whichever way checkpoints are kept."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from lab.names import Names
from lab.snapshot import snapshot
from lab.thread import Thread, read_thread
from sophos.agent.channel import DeltaThread, FullThread

CALLS: list[dict[str, Any]] = [
    {"id": "first", "name": "fetch__fetch", "args": {"url": "http://example/"}},
    {"id": "second", "name": "memory__read_graph", "args": {}},
]


def agent(state: dict[str, Any]) -> dict[str, Any]:
    if len(state["messages"]) == 1:
        return {"messages": [AIMessage(id="a1", content="", tool_calls=CALLS)]}
    return {"messages": [AIMessage(id="a2", content="done")]}


def works(state: dict[str, Any]) -> dict[str, Any]:
    (call,) = state["calls"]
    return {"messages": [ToolMessage(id=call["id"], tool_call_id=call["id"], content="x")]}


def breaks(state: dict[str, Any]) -> dict[str, Any]:
    if state["calls"][0]["id"] == "second":
        raise ValueError("boom")
    return works(state)


def after(state: dict[str, Any]) -> Any:
    asked = state["messages"][-1].tool_calls
    return [Send("tools", {"calls": [call]}) for call in asked] if asked else END


def run(
    path: Path,
    kept: type,
    tools: Callable[[dict[str, Any]], dict[str, Any]],
    durability: Literal["sync", "exit"] = "sync",
) -> Thread:
    """Run the real graph library once on a new file, and read what it stored."""
    graph: Any = StateGraph(kept)
    graph.add_node("agent", agent)
    graph.add_node("tools", tools)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", after, ["tools", END])
    graph.add_edge("tools", "agent")
    config = {"configurable": {"thread_id": "t"}, "metadata": {"run_id": "r"}}
    # What `breaks` raises is what the thread is to show.
    with SqliteSaver.from_conn_string(str(path)) as saver, suppress(ValueError):
        graph.compile(checkpointer=saver).invoke(
            {"messages": [HumanMessage(id="h", content="hello")]}, config, durability=durability
        )
    names = Names()
    with snapshot(path) as read:
        return read_thread(read, "t", lambda call: names.of("call", call))


both = pytest.mark.parametrize("kept", [DeltaThread, FullThread])


@both
def test_every_step_has_a_checkpoint_with_its_run_and_what_comes_next(
    tmp_path: Path, kept: type
) -> None:
    thread = run(tmp_path / "x.db", kept, works)
    assert [(row.step, row.source, row.next) for row in thread.checkpoints] == [
        (-1, "input", ("__start__",)),
        (0, "loop", ("agent",)),
        (1, "loop", ("tools",)),
        (2, "loop", ("agent",)),
        (3, "loop", ()),
    ]
    assert {row.run for row in thread.checkpoints} == {"r"}
    assert [row.messages for row in thread.checkpoints] == [0, 1, 2, 4, 5]


@both
def test_a_write_says_which_task_wrote_what(tmp_path: Path, kept: type) -> None:
    thread = run(tmp_path / "x.db", kept, works)
    told = [(row.step, row.task, row.what) for row in thread.writes if row.channel == "messages"]
    assert told == [
        (-1, "input", "user message"),
        (0, "agent", "assistant asks for fetch__fetch (call 1), memory__read_graph (call 2)"),
        (1, "tools: call 1", "result of call 1: success"),
        (1, "tools: call 2", "result of call 2: success"),
        (2, "agent", "assistant answers"),
    ]
    assert not any(row.pending for row in thread.writes)


@both
def test_a_step_that_failed_leaves_pending_writes_and_no_checkpoint(
    tmp_path: Path, kept: type
) -> None:
    thread = run(tmp_path / "x.db", kept, breaks)
    assert thread.checkpoints[-1].next == ("tools",)
    assert [(row.task, row.channel, row.what) for row in thread.writes if row.pending] == [
        ("tools: call 1", "messages", "result of call 1: success"),
        ("tools: call 1", "branch:to:agent", "agent is to run"),
        ("tools: call 2", "__error__", "ValueError('boom')"),
    ]


@both
def test_a_thread_that_is_saved_only_as_its_run_ends_is_read(tmp_path: Path, kept: type) -> None:
    thread = run(tmp_path / "db", kept, works, durability="exit")
    assert [message.id for message in thread.states[-1]] == ["h", "a1", "first", "second", "a2"]
    tasks = {write.task for write in thread.writes}
    assert tasks == ({"input", "agent", "a task of its own"} if kept is DeltaThread else set())
