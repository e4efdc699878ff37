"""Runs and their tool servers: what is not there fails the run; what misbehaves does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from runtime_parts import House, outcome, resume, scenario, told
from runtime_parts import say as send
from toolboxes import configure, small

from lab.model.script import call, say
from sophos.protections import Protection, Protections
from sophos.run import RunStatus

ADD: Any = call("lab__add", text="one")


def test_a_server_that_cannot_start_fails_the_run_until_it_is_mended(house: House) -> None:
    async def work() -> None:
        configure(house.folder, {"lab": small(house.journal, "fails")})
        house.model.script([[ADD], [say("Done.")]])
        async with house.open() as runtime:
            failed = await outcome(runtime, await send(runtime, "Add"))
            assert failed.error_code == "TOOLS_UNAVAILABLE"
            assert "lab" in (failed.error_message or "")
            assert not house.model.requests()
            assert (await told(runtime, failed.conversation_id)) == [("user", "Add")]
            configure(house.folder, {"lab": small(house.journal)})
            resumed = await outcome(runtime, await resume(runtime, failed.conversation_id))
            assert resumed.status is RunStatus.COMPLETED
        assert house.effects == ["add"]

    scenario(work())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (call("lab__add", then="fail"), "it failed"),
        (call("lab__add", then="refuse"), "not like this"),
        (call("lab__add", then="die"), "may or may not"),
        (call("nowhere__at_all"), "no tool nowhere__at_all"),
        (call("lab__once", text="no"), ""),
    ],
    ids=str,
)
def test_whatever_goes_wrong_with_a_call_the_model_is_told(
    house: House, asked: Any, words: str
) -> None:
    async def work() -> None:
        house.model.script([[asked], [say("I see.")]])
        async with house.open() as runtime:
            run = await outcome(runtime, await send(runtime, "Try"))
            assert run.status is RunStatus.COMPLETED
            view = await runtime.conversation(run.conversation_id)
            result = next(message for message in view.messages if message.role == "tool")
            assert words in result.content
            assert view.messages[-1].content == "I see."

    scenario(work())


def test_results_stand_in_the_order_of_their_calls_also_after_a_reload(house: House) -> None:
    async def work() -> None:
        calls = [call("lab__look", text=str(n)) for n in range(12)]
        house.model.script([calls, [say("Twelve.")]])
        async with house.open() as runtime:
            started = await send(runtime, "Look")
            await outcome(runtime, started)
            live = await told(runtime, started.conversation)
        async with house.open("boot-2") as runtime:
            assert await told(runtime, started.conversation) == live
        sent = house.model.requests()[-1]["body"]["messages"]
        results = [m["content"] for m in sent if m["role"] == "tool"]
        assert [json.loads(text)[1]["text"] for text in results] == [str(n) for n in range(12)]

    scenario(work())


def test_a_call_that_fails_the_run_does_not_repeat_its_finished_sibling(house: House) -> None:
    async def work() -> None:
        failing = house.failpoint("tool.returned(lab__set)=raise")
        house.model.script([[ADD, call("lab__set")], [say("Done.")]])
        async with house.open(failpoints=failing) as runtime:
            failed = await outcome(runtime, await send(runtime, "Both"))
            assert failed.error_code == "AGENT_FAILURE"
            resumed = await outcome(runtime, await resume(runtime, failed.conversation_id))
            assert resumed.status is RunStatus.COMPLETED
        assert sorted(house.effects) == ["add", "set", "set"]

    scenario(work())


def test_without_call_tasks_a_failing_call_repeats_its_finished_sibling(house: House) -> None:
    async def work() -> None:
        failing = house.failpoint("tool.returned(lab__set)=raise")
        off = Protections.without(Protection.CALL_TASKS)
        house.model.script([[ADD, call("lab__set")], [say("Done.")]])
        async with house.open(failpoints=failing, protections=off) as runtime:
            failed = await outcome(runtime, await send(runtime, "Both"))
            await outcome(runtime, await resume(runtime, failed.conversation_id))
        assert sorted(house.effects) == ["add", "add", "set", "set"]

    scenario(work())
