"""Threads on disk: how they grow, that both ways of keeping them are read, that reading disturbs nobody."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest
from runtime_parts import House, outcome, scenario, told
from runtime_parts import say as send

from lab.model.script import call, say
from sophos.protections import Protection, Protections
from sophos.run import RunStatus
from sophos.runtime.service import Runtime

FULL = Protections.without(Protection.DELTA_CHECKPOINTS)
HALF_A_KILOBYTE = "x" * 512


async def turns(house: House, runtime: Runtime, count: int, conversation: str | None) -> str:
    """So many turns of 1 KB; returns the conversation."""
    house.model.script([[say(HALF_A_KILOBYTE)]] * count)
    for _ in range(count):
        started = await send(runtime, HALF_A_KILOBYTE, conversation)
        conversation = started.conversation
        await outcome(runtime, started)
    assert conversation is not None
    return conversation


def size(house: House) -> int:
    """Bytes of the record, its log copied into it."""
    with closing(sqlite3.connect(house.database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return house.database.stat().st_size


def growth(house: House, *, counts: tuple[int, int, int], **settings: Any) -> list[float]:
    """By how much the file grows with each doubling of the turns."""
    sizes: list[int] = []

    async def work() -> None:
        async with house.open(**settings) as runtime:
            empty, conversation = size(house), None
            for more in (counts[0], counts[1] - counts[0], counts[2] - counts[1]):
                conversation = await turns(house, runtime, more, conversation)
                sizes.append(size(house) - empty)

    scenario(work())
    return [later / earlier for earlier, later in pairwise(sizes)]


def test_a_thread_grows_with_its_messages(house: House) -> None:
    assert max(growth(house, counts=(20, 40, 80))) < 2.2


def test_without_deltas_a_thread_grows_with_the_square_of_its_messages(house: House) -> None:
    assert min(growth(house, counts=(10, 20, 40), protections=FULL)) > 2.8


@pytest.mark.parametrize(("first", "second"), [(FULL, Protections()), (Protections(), FULL)])
def test_a_thread_kept_in_one_way_is_read_and_continued_in_the_other(
    house: House, first: Protections, second: Protections
) -> None:
    async def work() -> None:
        house.model.script([[call("lab__look")], [say("One.")], [call("lab__look")], [say("Two.")]])
        async with house.open(protections=first) as runtime:
            started = await send(runtime, "First")
            await outcome(runtime, started)
            before = await told(runtime, started.conversation)
        async with house.open("boot-2", protections=second) as runtime:
            assert await told(runtime, started.conversation) == before
            await outcome(runtime, await send(runtime, "Second", started.conversation))
            both = await told(runtime, started.conversation)
            assert both[: len(before)] == before
            assert [text for role, text in both if role == "user"] == ["First", "Second"]
        async with house.open("boot-3", protections=first) as runtime:
            assert await told(runtime, started.conversation) == both
            found = [one async for one in await runtime.checkpoints(started.conversation)]
            assert found[-1].message_count == len(both)

    scenario(work())


def test_reading_checkpoints_waits_for_nobody_and_nobody_waits_for_it(house: House) -> None:
    async def work() -> None:
        house.model.script([[call("lab__look")], [say("One.")]])
        async with house.open() as runtime:
            started = await send(runtime, "First")
            await outcome(runtime, started)
            reading = await runtime.checkpoints(started.conversation)
            assert (await anext(reading)).step == -1
            # The reader stands in the middle, a run goes on; a writer holds the file, one reads.
            second = await outcome(runtime, await send(runtime, "Again", started.conversation))
            assert second.status is RunStatus.COMPLETED
            with closing(sqlite3.connect(house.database, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                async with runtime.record.checkpoints.lock:
                    async with asyncio.timeout(5):
                        again = await runtime.checkpoints(started.conversation)
                        steps = [checkpoint.step async for checkpoint in again]
                assert steps == sorted(steps)
            assert [checkpoint.step async for checkpoint in reading] == [0, 1, 2, 3]

    scenario(work())


def test_checkpoints_tell_whose_they_are_and_what_is_to_run(house: House) -> None:
    async def work() -> None:
        house.model.script([[call("lab__look")], [say("One.")]])
        async with house.open() as runtime:
            started = await send(runtime, "First")
            await outcome(runtime, started)
            found = [one async for one in await runtime.checkpoints(started.conversation)]
        assert [(one.step, one.next, one.message_count) for one in found] == [
            (-1, ("__start__",), 0),
            (0, ("agent",), 1),
            (1, ("tools",), 2),
            (2, ("agent",), 3),
            (3, (), 4),
        ]
        assert {one.run for one in found} == {started.run}
        assert [one.parent_id for one in found] == [None, *(o.checkpoint_id for o in found[:-1])]

    scenario(work())


@pytest.mark.parametrize("moves_before", [True, False], ids=["before it", "after it"])
def test_a_message_is_told_though_its_run_saves_it_while_the_record_is_read(
    house: House, monkeypatch: pytest.MonkeyPatch, moves_before: bool
) -> None:
    async def work() -> None:
        house.model.script([[say("First.")], [say("Second.")]])
        async with house.open() as runtime:
            first = await send(runtime, "One")
            await outcome(runtime, first)
            await runtime.agent()
            with closing(sqlite3.connect(house.database, isolation_level=None)) as other:
                second = await send(runtime, "Two", first.conversation)
                other.execute("BEGIN IMMEDIATE")  # the run cannot save its input yet
                head = runtime.record.checkpoints.head

                async def moving(thread: str) -> Any:
                    found = await head(thread)
                    other.execute("COMMIT")
                    await outcome(runtime, second)
                    return await head(thread) if moves_before else found

                monkeypatch.setattr(runtime.record.checkpoints, "head", moving)
                view = await runtime.conversation(first.conversation)
        assert view.active_run == second.run
        users = [message.id for message in view.messages if message.role == "user"]
        assert users == [first.run, second.run]
        assert view.owed == []

    scenario(work())


def test_a_run_that_comes_while_the_record_is_read_leaves_nothing_to_resume(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            first = await send(runtime, "One")
            await outcome(runtime, first)
            house.model.hold(0)
            head = runtime.record.checkpoints.head

            async def coming(thread: str) -> Any:
                found = await head(thread)
                monkeypatch.undo()
                await send(runtime, "Two", first.conversation)
                return found

            monkeypatch.setattr(runtime.record.checkpoints, "head", coming)
            view = await runtime.conversation(first.conversation)
            newest = await runtime.record.runs.latest(first.conversation)
            assert newest is not None
            assert (newest.input, view.active_run, view.resumable) == ("Two", newest.id, False)
            house.model.release()

    scenario(work())
