"""Whole runs through the real parts: what is recorded, what is told, and in which order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from runtime_parts import (
    House,
    answer,
    ending,
    outcome,
    resume,
    scenario,
    told,
    traces,
    watch,
)
from runtime_parts import say as send

from lab.model.script import call, fail, say
from sophos.errors import NotFound, RunNotResumable, SessionInProgress
from sophos.events import End, Token, Trace, TraceEvent
from sophos.run import RunStatus

ADD: Any = call("lab__add", text="one")


def test_a_turn_with_two_calls_is_told_and_recorded_the_same(house: House) -> None:
    async def work() -> None:
        house.model.script([[ADD, call("lab__set", text="two")], [say("Both are done.")]])
        async with house.open() as runtime:
            started = await send(runtime, "Do both")
            events = await watch(runtime, started.conversation)
            assert [sent.id for sent in events] == [
                f"{started.run}:{n}" for n in range(1, len(events) + 1)
            ]
            record = await told(runtime, started.conversation)
            assert [role for role, _ in record] == [
                "user",
                "assistant",
                "tool",
                "tool",
                "assistant",
            ]
            assert answer(events).endswith("Both are done.")
            assert record[-1][1] == "Both are done."
            assert ending(events) == "completed"
        assert sorted(house.effects) == ["add", "set"]

    scenario(work())


def test_a_result_is_on_disk_before_it_is_told_and_the_outcome_before_the_end(house: House) -> None:
    async def work() -> None:
        house.model.script([[ADD], [say("Done.")]])
        async with house.open() as runtime:
            started = await send(runtime, "Add")
            stream = await runtime.subscribe(started.conversation, run=None, last_event_id=None)
            assert stream is not None
            async for sent in stream:
                event = sent.event
                if isinstance(event, Trace) and event.event is TraceEvent.RESULT:
                    written = "SELECT count(*) FROM writes WHERE channel = 'messages'"
                    assert house.rows(f"{written} AND task_path LIKE '%push%'") == [(1,)]
                if isinstance(event, Trace) and event.event is TraceEvent.LEAVE:
                    steps = house.rows("SELECT metadata ->> 'step' FROM checkpoints")
                    assert (event.step,) in steps
                if isinstance(event, End):
                    assert house.statuses() == ["completed"]

    scenario(work())


def test_a_message_that_did_not_reach_its_thread_is_owed_until_a_resume_brings_it(
    house: House,
) -> None:
    async def work() -> None:
        dies = house.failpoint("run.recorded#1=raise")
        async with house.open(failpoints=dies) as runtime:
            started = await send(runtime, "Do not lose me")
            await outcome(runtime, started)
            view = await runtime.conversation(started.conversation)
            assert (view.resumable, list(view.next), view.owed) == (True, [], [started.run])
            await outcome(runtime, await resume(runtime, started.conversation))
            view = await runtime.conversation(started.conversation)
            assert (view.resumable, list(view.next), view.owed) == (False, [], [])

    scenario(work())


def test_what_a_run_says_is_in_order(house: House) -> None:
    async def work() -> None:
        house.model.script([[ADD], [say("Done.")]])
        async with house.open() as runtime:
            started = await send(runtime, "Add")
            events = await watch(runtime, started.conversation)
        assert [(trace.step, trace.node, trace.event.value) for trace in traces(events)] == [
            (1, "agent", "enter"),
            (1, "agent", "leave"),
            (2, "tools", "enter"),
            (2, "tools", "call"),
            (2, "tools", "result"),
            (2, "tools", "leave"),
            (3, "agent", "enter"),
            (3, "agent", "leave"),
        ]

    scenario(work())


def test_the_second_turn_is_sent_the_first(house: House) -> None:
    async def work() -> None:
        house.model.script([[say("First answer.")], [say("Second answer.")]])
        async with house.open() as runtime:
            first = await send(runtime, "First")
            await outcome(runtime, first)
            await outcome(runtime, await send(runtime, "Second", first.conversation))
        sent = house.model.requests()[-1]["body"]["messages"]
        assert [(m["role"], m["content"]) for m in sent] == [
            ("system", "Answer briefly."),
            ("user", "First"),
            ("assistant", "First answer."),
            ("user", "Second"),
        ]

    scenario(work())


def test_two_starts_at_once_on_one_conversation_give_one_run(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            first = await send(runtime, "hello")
            await outcome(runtime, first)
            results = await asyncio.gather(
                *(send(runtime, f"again {n}", first.conversation) for n in range(5)),
                return_exceptions=True,
            )
            refused = [result for result in results if isinstance(result, SessionInProgress)]
            assert len(refused) == 4
            await watch(runtime, first.conversation)
            record = await told(runtime, first.conversation)
            assert [role for role, _ in record] == ["user", "assistant"] * 2
        assert house.statuses() == ["completed", "completed"]

    scenario(work())


def test_twenty_conversations_at_once_do_not_mix(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await asyncio.gather(*(send(runtime, f"Say number {n}!") for n in range(20)))
            runs = await asyncio.gather(*(outcome(runtime, one) for one in started))
            assert {run.status for run in runs} == {RunStatus.COMPLETED}
            for n, one in enumerate(started):
                (_, asked), (_, answered) = await told(runtime, one.conversation)
                assert asked == f"Say number {n}!"
                assert f"number {n}" in answered

    scenario(work())


def test_there_is_nothing_to_resume_on_a_finished_conversation_or_an_unknown_one(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            await outcome(runtime, started)
            with pytest.raises(RunNotResumable):
                await resume(runtime, started.conversation)
            with pytest.raises(NotFound):
                await resume(runtime, "00000000-0000-4000-8000-000000000000")
        assert house.statuses() == ["completed"]

    scenario(work())


def test_a_resume_that_is_sent_again_with_its_key_is_the_first_one_though_that_is_over(
    house: House,
) -> None:
    async def work() -> None:
        house.model.script([fail(503, "overloaded"), [say("Done.")]])
        async with house.open() as runtime:
            thread = (await outcome(runtime, await send(runtime, "hello"))).conversation_id
            first = await runtime.start_resume(conversation=thread, key="once")
            assert (await outcome(runtime, first)).status is RunStatus.COMPLETED
            assert await runtime.start_resume(conversation=thread, key="once") == first
            with pytest.raises(RunNotResumable):
                await runtime.start_resume(conversation=thread, key="another")
        assert house.statuses() == ["failed", "completed"]

    scenario(work())


def test_a_run_that_uses_all_its_steps_fails_and_a_resume_gives_it_as_many_again(
    house: House,
) -> None:
    async def work() -> None:
        house.model.script([[ADD], [ADD], [say("Enough.")]])
        async with house.open(recursion_limit=3) as runtime:
            started = await send(runtime, "Add twice")
            failed = await outcome(runtime, started)
            assert (failed.status, failed.error_code) == (RunStatus.FAILED, "RECURSION_LIMIT")
            resumed = await outcome(runtime, await resume(runtime, started.conversation))
            assert resumed.status is RunStatus.COMPLETED
        assert house.effects == ["add", "add"]

    scenario(work())


def test_reasoning_is_told_and_recorded_but_is_no_part_of_the_answer(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            events = await watch(runtime, started.conversation)
            kinds = {sent.event.kind for sent in events if isinstance(sent.event, Token)}
            assert kinds == {"answer", "reasoning"}
            message = (await runtime.conversation(started.conversation)).messages[-1]
            assert message.content == answer(events)
            assert message.reasoning
            assert message.reasoning not in message.content

    scenario(work())
