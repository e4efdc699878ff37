import asyncio
from pathlib import Path

import pytest
from mcp.server.fastmcp.exceptions import ToolError

from lab.tasks import Ledger, make_server
from lab.witness import read_effects, read_received


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "tasks.db")


def test_two_calls_without_a_key_are_two_effects(ledger: Ledger) -> None:
    assert ledger.add("create_task", "water the plants") == (1, True)
    assert ledger.add("create_task", "water the plants") == (2, True)
    assert len(ledger.tasks()) == 2


def test_two_calls_with_one_key_are_one_effect(ledger: Ledger) -> None:
    first, new = ledger.add("create_task_once", "water the plants", "thread:call")
    assert new
    assert ledger.add("create_task_once", "water the plants", "thread:call") == (first, False)
    assert len(ledger.tasks()) == 1


def test_a_task_is_deleted_once(ledger: Ledger) -> None:
    task, _ = ledger.add("create_task", "water the plants")
    assert ledger.delete(task) == "water the plants"
    assert ledger.delete(task) is None
    assert ledger.tasks() == []


def test_what_was_added_is_there_for_another_process(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add("create_task", "water the plants")
    assert Ledger(tmp_path / "tasks.db").tasks() == [(1, "water the plants")]


def test_the_tools_say_what_they_do_to_the_world(ledger: Ledger) -> None:
    tools = {tool.name: tool for tool in make_server(ledger)._tool_manager.list_tools()}
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert (hint := hints["list_tasks"])
    assert hint.readOnlyHint
    assert (hint := hints["create_task_once"])
    assert hint.idempotentHint
    assert (hint := hints["delete_task"])
    assert hint.destructiveHint


def test_every_call_that_comes_is_noted_whatever_becomes_of_it(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    server = make_server(Ledger(path))
    for name, key in (("create_task", {}), ("create_task_once", {"idempotency_key": "a:b"})):
        for _ in range(2):
            asyncio.run(server.call_tool(name, {"title": "walk", **key}))
    with pytest.raises(ToolError):
        asyncio.run(server.call_tool("fail_task", {"title": "run"}))
    assert [(call.tool, call.title) for call in read_received(path)] == [
        *[("create_task", "walk")] * 2,
        *[("create_task_once", "walk")] * 2,
        ("fail_task", "run"),
    ]
    assert [(effect.n, effect.key) for effect in read_effects(path)] == [
        *((1, None), (2, None), (3, "a:b"))
    ]


def test_a_ledger_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert read_effects(tmp_path / "tasks.db") == []
    assert read_received(tmp_path / "tasks.db") == []
