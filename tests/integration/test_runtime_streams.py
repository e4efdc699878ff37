"""Viewers: they join and leave as they like, and each is told the same, without a gap."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from runtime_parts import House, answer, ending, only_conversation, outcome, scenario, watch
from runtime_parts import say as send

from lab.model.script import say
from sophos.errors import NotFound
from sophos.events import End, Gap, Sent
from sophos.protections import Protections
from sophos.run import Run, RunStatus
from sophos.runtime.answers import Started
from sophos.runtime.registry import Registry
from sophos.runtime.service import Runtime
from sophos.storage.runs import Claim, Runs

LONG = " ".join(f"word{n}" for n in range(400))
LEAVING_ENDS = 300  # events
READS = 8  # one after the other, and a viewer that began before has had its few as well
OLD = "00000000-0000-4000-8000-000000000000"


async def begin(house: House, runtime: Runtime) -> Started:
    """A run that stands still in the middle of its answer."""
    house.model.hold(20)
    started = await send(runtime, "Write an essay of 60 words about tea.")
    await asyncio.to_thread(house.model.wait_held)
    return started


async def first(runtime: Runtime, conversation: str, after: str | None) -> Sent:
    stream = await runtime.subscribe(conversation, run=None, last_event_id=after)
    assert stream is not None
    return await anext(stream)


def test_a_viewer_that_names_an_event_gets_exactly_the_next_one(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await begin(house, runtime)
            for number in (1, 5, 12):
                sent = await first(runtime, started.conversation, f"{started.run}:{number}")
                assert sent.id == f"{started.run}:{number + 1}"
            house.model.release()
            events = await watch(runtime, started.conversation)
            assert await watch(runtime, started.conversation, after=None) != events
            assert isinstance(events[-1].event, End)

    scenario(work())


NO_EVENTS = (
    *("", "0", "-1", "x", ":", "{run}", "{run}:", "{run}:-1", "{run}:1.5", "{run}:१", "{run}:0"),
    *("{run}:9999999999999999999999", "{run}:99999"),
)


@pytest.mark.parametrize("asked", NO_EVENTS)
def test_whatever_is_no_event_of_the_run_replays_it_from_the_first(
    house: House, asked: str
) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await begin(house, runtime)
            sent = await first(runtime, started.conversation, asked.format(run=started.run))
            assert sent.id == f"{started.run}:1"
            house.model.release()
            await outcome(runtime, started)

    scenario(work())


def test_another_runs_event_replays_after_a_gap(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            older = await send(runtime, "hello")
            await outcome(runtime, older)
            house.model.hold(20)
            newer = await send(runtime, "Write an essay of 60 words.", older.conversation)
            for asked in (f"{older.run}:3", f"{OLD}:3"):
                stream = await runtime.subscribe(older.conversation, run=None, last_event_id=asked)
                assert stream is not None
                assert (await anext(stream)).event == Gap()
                assert (await anext(stream)).id == f"{newer.run}:1"
            house.model.release()
            await outcome(runtime, newer)

    scenario(work())


def test_after_the_last_event_there_is_nothing_more_and_before_it_the_outcome(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            last = (await watch(runtime, started.conversation))[-1]
            nothing = await runtime.subscribe(started.conversation, run=None, last_event_id=last.id)
            assert nothing is None
            for asked in (None, f"{started.run}:1", f"{OLD}:7"):
                (sent,) = await watch(runtime, started.conversation, after=asked)
                assert (sent.event, sent.id) == (last.event, None)

    scenario(work())


def test_an_older_run_is_answered_from_its_row_while_a_newer_one_works(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            older = await send(runtime, "hello")
            await outcome(runtime, older)
            house.model.hold(5)
            newer = await send(runtime, "hello again", older.conversation)
            (sent,) = await watch(runtime, older.conversation, run=older.run)
            assert isinstance(sent.event, End)
            assert sent.event.run == older.run
            house.model.release()
            await outcome(runtime, newer)

    scenario(work())


def test_a_run_of_another_conversation_is_not_found(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            one, other = await send(runtime, "hello"), await send(runtime, "hello")
            await outcome(runtime, one)
            await outcome(runtime, other)
            with pytest.raises(NotFound):
                await runtime.subscribe(one.conversation, run=other.run, last_event_id=None)

    scenario(work())


async def restless(
    runtime: Runtime, started: Started, seed: int, all_back: asyncio.Barrier
) -> list[Sent]:
    """Come and go, each time with the last id, until LEAVING_ENDS; all that was seen."""
    dice = random.Random(seed)
    seen: list[Sent] = []
    while len(seen) < LEAVING_ENDS:
        stays = dice.randrange(1, 60)
        async for sent in await joined(runtime, started, seen):
            seen.append(sent)
            stays -= 1
            if not stays:
                break
    # Nobody is away when the run ends: what it said can be replayed until then.
    stream = await joined(runtime, started, seen)
    seen.append(await anext(stream))
    await all_back.wait()
    return seen + [sent async for sent in stream]


async def joined(runtime: Runtime, started: Started, seen: list[Sent]) -> AsyncIterator[Sent]:
    after = seen[-1].id if seen else None
    stream = await runtime.subscribe(started.conversation, run=started.run, last_event_id=after)
    assert stream is not None
    return stream


def test_fifty_viewers_that_come_and_go_see_the_same(house: House) -> None:
    async def work() -> None:
        house.model.script([[say(LONG)]])
        house.model.hold(LEAVING_ENDS + 80)
        async with house.open() as runtime:
            started = await send(runtime, "Talk")
            steady = asyncio.create_task(watch(runtime, started.conversation))
            all_back = asyncio.Barrier(51)
            viewers = [
                asyncio.create_task(restless(runtime, started, n, all_back)) for n in range(50)
            ]
            await all_back.wait()
            house.model.release()
            wanted = await steady
            assert [sent.id for sent in wanted] == [
                f"{started.run}:{n}" for n in range(1, len(wanted) + 1)
            ]
            assert answer(wanted) == LONG
            for seen in await asyncio.gather(*viewers):
                assert [sent.id for sent in seen] == [sent.id for sent in wanted]
                assert answer(seen) == LONG

    scenario(work())


class Paused(Runs):
    """Every claim is committed, and then its caller is kept waiting until `go` is set."""

    def __init__(self, runs: Runs) -> None:
        super().__init__(runs._database)
        self.committed, self.go = asyncio.Event(), asyncio.Event()

    async def claim(self, **what: Any) -> Claim:
        claim = await super().claim(**what)
        self.committed.set()
        await self.go.wait()
        return claim


def test_a_viewer_who_comes_between_the_claim_and_the_run_sees_all_of_the_run(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as opened:
            runs = Paused(opened.record.runs)
            registry = Registry(
                runs=runs, executor=opened.registry._executor, protections=Protections()
            )
            runtime = replace(opened, registry=registry)
            starting = asyncio.create_task(send(runtime, "hello"))
            await runs.committed.wait()
            watching = asyncio.create_task(watch(runtime, await only_conversation(runtime)))
            for _ in range(READS):
                await runtime.conversations(limit=1, before=None)
            runs.go.set()
            seen = await watching
            assert (ending(seen), seen[0].id) == ("completed", f"{(await starting).run}:1")
            await runtime.drain()

    scenario(work())


class Stale(Runs):
    """The newest run, as its row was when it was read: it reaches its reader once `go` is set."""

    def __init__(self, runs: Runs) -> None:
        super().__init__(runs._database)
        self.was_read, self.go = asyncio.Event(), asyncio.Event()

    async def latest(self, conversation_id: str) -> Run | None:
        found = await super().latest(conversation_id)
        self.was_read.set()
        await self.go.wait()
        return found


def test_a_viewer_who_read_the_row_before_another_run_took_its_place_is_told_its_end(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as opened:
            older = await begin(house, opened)
            runs = Stale(opened.record.runs)
            runtime = replace(opened, record=replace(opened.record, runs=runs))
            watching = asyncio.create_task(watch(runtime, older.conversation))
            await runs.was_read.wait()
            house.model.release()
            await outcome(opened, older)
            house.model.hold(20)
            newer = await send(opened, "Write an essay of 60 words.", older.conversation)
            runs.go.set()
            assert ending(await watching) == "completed"
            house.model.release()
            await outcome(opened, newer)

    scenario(work())


def test_a_viewer_that_leaves_never_touches_the_run(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await begin(house, runtime)
            viewer = asyncio.create_task(watch(runtime, started.conversation))
            await asyncio.sleep(0)
            viewer.cancel()
            house.model.release()
            assert (await outcome(runtime, started)).status is RunStatus.COMPLETED

    scenario(work())


def test_a_shutdown_ends_every_stream_with_the_runs_outcome(house: House) -> None:
    async def work() -> None:
        async with house.open(shutdown_grace=0.1) as runtime:
            started = await begin(house, runtime)
            watching = asyncio.create_task(watch(runtime, started.conversation))
            await asyncio.sleep(0)
            await runtime.drain()
            assert ending(await watching) == "interrupted"
        assert house.statuses() == ["interrupted"]

    scenario(work())


def test_a_run_that_is_drained_before_it_is_driven_stops_at_its_first_boundary(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            await runtime.drain()
            assert (await runtime.run(started.run)).status is RunStatus.INTERRUPTED
            assert (await runtime.conversation(started.conversation)).resumable
        assert not house.model.requests()

    scenario(work())


def test_a_stream_whose_end_is_never_announced_lets_its_viewers_go(house: House) -> None:
    async def work() -> None:
        unannounced = house.failpoint("outcome.recorded=raise")
        async with house.open(failpoints=unannounced) as runtime:
            started = await begin(house, runtime)
            watching = asyncio.create_task(watch(runtime, started.conversation))
            await asyncio.sleep(0)
            house.model.release()
            assert not isinstance((await watching)[-1].event, End)
            assert ending(await watch(runtime, started.conversation)) == "completed"

    scenario(work())
