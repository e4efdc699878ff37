"""Stopping a run, wherever it is: the request is on record first, and the outcome follows."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from runtime_parts import House, ending, outcome, resume, scenario, told, traces, watch
from runtime_parts import say as send
from toolboxes import until

from lab.model.script import call, hang, say
from sophos.errors import RunNotActive
from sophos.events import TraceEvent
from sophos.run import RunStatus
from sophos.runtime.event_log import EventLog
from sophos.runtime.executor import ActiveRun
from sophos.runtime.service import Runtime

WAIT: Any = call("lab__add", then="wait")


async def cancelled(runtime: Runtime, conversation: str, run: str) -> list[Any]:
    await runtime.cancel(run)
    events = await watch(runtime, conversation, run=run)
    assert (await runtime.run(run)).status is RunStatus.CANCELLED
    return events


def test_a_cancel_in_the_models_stream_stops_the_model(house: House) -> None:
    async def work() -> None:
        house.model.hold(3)
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            await asyncio.to_thread(house.model.wait_held)
            events = await cancelled(runtime, started.conversation, started.run)
            assert ending(events) == "cancelled"
            (request,) = house.model.requests()
            gone = await asyncio.to_thread(house.model.wait_ended, request["number"])
            assert gone["ended"] == "client gone"
            house.model.release()
            view = await runtime.conversation(started.conversation)
            assert (view.resumable, view.active_run) == (True, None)
            assert (await outcome(runtime, await resume(runtime, started.conversation))).status is (
                RunStatus.COMPLETED
            )

    scenario(work())


def test_a_cancel_in_a_tool_call_tells_the_tool_and_says_what_is_not_known(house: House) -> None:
    async def work() -> None:
        house.model.script([[WAIT]])
        async with house.open() as runtime:
            started = await send(runtime, "Wait")
            await until(lambda: house.effects)
            events = await cancelled(runtime, started.conversation, started.run)
            (note,) = traces(events, TraceEvent.NOTE)
            assert "may still finish" in note.details["text"]
            await until(lambda: "add" in house.facts("cancelled"))

    scenario(work())


def test_cancelling_again_and_again_changes_nothing(house: House) -> None:
    async def work() -> None:
        house.model.script([[WAIT]])
        async with house.open() as runtime:
            started = await send(runtime, "Wait")
            await until(lambda: house.effects)
            first = await runtime.cancel(started.run)
            second = await runtime.cancel(started.run)
            assert second.cancel_requested_at == first.cancel_requested_at
            assert (await outcome(runtime, started)).status is RunStatus.CANCELLED
            others = asyncio.all_tasks() - {asyncio.current_task()}
            assert not [task for task in others if "drive" in task.get_name()]

    scenario(work())


def test_a_cancel_before_the_graph_starts_keeps_the_message(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            # The agent stack is still being imported or opened when these two come.
            started = await send(runtime, "hello")
            events = await cancelled(runtime, started.conversation, started.run)
            assert ending(events) == "cancelled"
            assert not house.model.requests()
            assert (await runtime.conversation(started.conversation)).resumable
            await outcome(runtime, await resume(runtime, started.conversation))
            assert [role for role, _ in await told(runtime, started.conversation)] == [
                "user",
                "assistant",
            ]

    scenario(work())


def test_a_run_that_is_stopped_before_its_task_begins_asks_no_model(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            runs = runtime.record.runs
            started = await send(runtime, "hello")
            await outcome(runtime, started)
            house.model.forget_requests()
            row = replace(await runtime.run(started.run), id=str(uuid4()), status=RunStatus.RUNNING)
            claim = await runs.claim(run=replace(row, finished_at=None), title=None, body="")
            active = ActiveRun(run=claim.run, log=EventLog(row.id))
            active.stop()
            await runtime.registry._executor.execute(active)
            assert (await runtime.run(row.id)).status is RunStatus.INTERRUPTED
            assert not house.model.requests()

    scenario(work())


def test_a_second_stop_does_not_break_into_the_cleaning_up_after_the_first(house: House) -> None:
    async def work() -> None:
        cleaned = []

        async def drive() -> int | None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                cleaned.append("whole")
            return None

        async with house.open() as runtime:
            run = await outcome(runtime, await send(runtime, "hello"))
        driving = asyncio.create_task(drive())
        active = ActiveRun(run=run, log=EventLog(run.id), driving=driving)
        for _ in range(2):
            await asyncio.sleep(0)
            active.stop()
        await asyncio.wait([driving])
        assert cleaned == ["whole"]

    scenario(work())


def test_a_cancel_after_the_end_is_refused_and_finishing_wins(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            await outcome(runtime, started)
            with pytest.raises(RunNotActive):
                await runtime.cancel(started.run)
        assert house.statuses() == ["completed"]

    scenario(work())


def test_a_cancelled_conversation_takes_a_new_message_with_a_valid_history(house: House) -> None:
    async def work() -> None:
        house.model.script([[call("lab__set"), WAIT], [say("Noted.")]])
        async with house.open() as runtime:
            started = await send(runtime, "Set and wait")
            stream = await runtime.subscribe(started.conversation, run=None, last_event_id=None)
            assert stream is not None
            async for sent in stream:
                if traces([sent], TraceEvent.RESULT):
                    break
            await cancelled(runtime, started.conversation, started.run)
            await outcome(runtime, await send(runtime, "Never mind", started.conversation))
        roles = [m["role"] for m in house.model.requests()[-1]["body"]["messages"]]
        assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
        results = [m for m in house.model.requests()[-1]["body"]["messages"] if m["role"] == "tool"]
        assert '["set"' in results[0]["content"]
        assert "abandoned" in results[1]["content"]
        assert house.effects == ["set", "add"]

    scenario(work())


def test_a_cancel_while_the_model_says_nothing_ends_at_once(house: House) -> None:
    async def work() -> None:
        house.model.script([hang()])
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            await until(house.model.requests)
            await cancelled(runtime, started.conversation, started.run)
            (request,) = house.model.requests()
            gone = await asyncio.to_thread(house.model.wait_ended, request["number"])
            assert gone["ended"] == "client gone"

    scenario(work())
