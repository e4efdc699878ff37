from pathlib import Path

import pytest

from lab.tasks import Ledger, make_server


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
