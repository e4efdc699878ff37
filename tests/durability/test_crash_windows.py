"""A process dies at each point of a turn with two tool calls: nothing accepted is lost or doubled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pytest
from runtime_parts import (
    House,
    answer,
    check_history,
    check_pending,
    only_conversation,
    outcome,
    resume,
    scenario,
    told,
    traces,
    watch,
)
from runtime_parts import say as send
from victims import Left, kill_at

from lab.model.script import call, say, think
from sophos.events import TraceEvent
from sophos.run import RunStatus

CALLS: Any = [
    think("I am to do both."),
    call("lab__add", text="one"),
    call("lab__set", text="two"),
]
ANSWER: Any = [say("Both are done.")]
TURNS: Final = [CALLS, ANSWER]
ROLES: Final = ["user", "assistant", "tool", "tool", "assistant"]


@dataclass(frozen=True, kw_only=True)
class Window:
    """A place to die. `asks`: how often a resume asks the model; `repeats`: calls it makes again."""

    rule: str
    asks: int
    repeats: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.rule


UNFINISHED: Final = (
    Window(rule="run.recorded", asks=2),
    Window(rule="step.saving(-1)", asks=2),
    Window(rule="step.saved(-1)", asks=2),
    Window(rule="step.saving(0)", asks=2),
    Window(rule="input.saved", asks=2),
    Window(rule="agent.asking(1)", asks=2),
    Window(rule="agent.streaming@3", asks=2),
    Window(rule="agent.answered(1)", asks=2),
    Window(rule="step.saving(1)", asks=1),
    Window(rule="step.saved(1)", asks=1),
    Window(rule="tool.calling(lab__add)", asks=1),
    Window(rule="tool.returned(lab__add)", asks=1, repeats=("add",)),
    Window(rule="tool.recorded(lab__set)", asks=1),
    Window(rule="step.saving(2)", asks=1),
    Window(rule="step.saved(2)", asks=1),
    Window(rule="agent.asking(3)", asks=1),
    Window(rule="agent.streaming#2@3", asks=1),
    Window(rule="agent.answered(3)", asks=1),
    Window(rule="step.saving(3)", asks=0),
)
FINISHED: Final = (
    Window(rule="step.saved(3)", asks=0),
    Window(rule="graph.finished", asks=0),
    Window(rule="outcome.recorded", asks=0),
    Window(rule="end.announced", asks=0),
)


def die(house: House, window: Window) -> Left:
    house.model.script(TURNS)
    return kill_at(house, window.rule, text="Do both")


def effects(house: House) -> dict[str, int]:
    return {name: house.effects.count(name) for name in ("add", "set")}


@pytest.mark.parametrize("window", UNFINISHED, ids=str)
def test_a_resume_goes_on_where_the_dead_process_stood(house: House, window: Window) -> None:
    left = die(house, window)
    again = left.copy("resumed")
    again.model.script(TURNS[2 - window.asks :])

    async def work() -> None:
        async with again.open() as runtime:
            conversation = await only_conversation(runtime)
            assert again.statuses() == ["interrupted"]
            view = await runtime.conversation(conversation)
            assert (view.resumable, view.active_run) == (True, None)
            await check_pending(runtime, conversation)
            started = await resume(runtime, conversation)
            events = await watch(runtime, conversation, run=started.run)
            assert (await runtime.run(started.run)).status is RunStatus.COMPLETED
            assert traces(events)[0].event is TraceEvent.RESUME
            assert traces(events)[0].node in {"agent", "tools"}
            assert events[0].id == f"{started.run}:1"
            assert answer(events).count("Both are done.") == min(window.asks, 1)
            record = await told(runtime, conversation)
            assert [role for role, _ in record] == ROLES
            assert record[-1][1] == "Both are done."
            assert (await runtime.conversation(conversation)).conversation.message_count == 5
        assert len(again.model.requests()) == window.asks

    scenario(work())
    assert effects(again) == {name: 1 + (name in window.repeats) for name in ("add", "set")}
    assert not set(left.told_results) & {f"lab__{name}" for name in window.repeats}


@pytest.mark.parametrize("window", UNFINISHED, ids=str)
def test_a_new_message_instead_loses_nothing_and_sends_a_valid_history(
    house: House, window: Window
) -> None:
    again = die(house, window).copy("new message")
    before = again.effects
    again.model.script([[say("Understood.")]])

    async def work() -> None:
        async with again.open() as runtime:
            conversation = await only_conversation(runtime)
            run = await outcome(runtime, await send(runtime, "Never mind", conversation))
            assert run.status is RunStatus.COMPLETED
            record = await told(runtime, conversation)
            assert [text for role, text in record if role == "user"] == ["Do both", "Never mind"]
            assert record[0] == ("user", "Do both")
            assert [role for role, _ in record][-2:] == ["user", "assistant"]
            assert not (await runtime.conversation(conversation)).resumable

    scenario(work())
    (request,) = again.model.requests()
    check_history(request["body"]["messages"])
    assert again.effects == before


@pytest.mark.parametrize("window", FINISHED, ids=str)
def test_a_finished_graph_is_completed_and_nothing_is_left_to_resume(
    house: House, window: Window
) -> None:
    left = die(house, window)

    async def work() -> None:
        async with left.house.open() as runtime:
            conversation = await only_conversation(runtime)
            assert left.house.statuses() == ["completed"]
            assert not (await runtime.conversation(conversation)).resumable
            await check_pending(runtime, conversation)
            record = await told(runtime, conversation)
            assert [role for role, _ in record] == ROLES
            assert record[-1][1] == "Both are done."

    scenario(work())
    assert left.house.rows("SELECT message_count FROM conversations") == [(5,)]
    assert effects(left.house) == {"add": 1, "set": 1}
