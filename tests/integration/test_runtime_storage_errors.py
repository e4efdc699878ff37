"""Storage that fails in the middle: clear codes, nothing acknowledged is lost, recorded later."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from runtime_parts import (
    House,
    ending,
    only_conversation,
    outcome,
    resume,
    scenario,
    told,
    until_status,
    watch,
)
from runtime_parts import say as send

from lab.model.script import call, say
from sophos.errors import RunNotResumable, SessionInProgress, StorageUnavailable
from sophos.protections import Protections
from sophos.run import Run, RunStatus
from sophos.runtime.registry import Registry
from sophos.storage.runs import Runs

ADD: Any = call("lab__add", text="one")


@contextmanager
def trouble(house: House, when: str) -> Iterator[None]:
    """Every statement of this kind fails for as long as this is open."""
    with closing(sqlite3.connect(house.database, isolation_level=None)) as connection:
        connection.execute(
            f"CREATE TRIGGER trouble BEFORE {when} BEGIN SELECT RAISE(ABORT, 'trouble'); END"
        )
        try:
            yield
        finally:
            connection.execute("DROP TRIGGER trouble")


@pytest.mark.parametrize("step", [-1, 0, 1, 2, 3])
def test_a_checkpoint_that_cannot_be_saved_fails_the_run_and_a_resume_goes_on(
    house: House, step: int
) -> None:
    async def work() -> None:
        house.model.script([[ADD], [say("Done.")]])
        async with house.open() as runtime:
            with trouble(house, f"INSERT ON checkpoints WHEN NEW.metadata ->> 'step' = {step}"):
                started = await send(runtime, "Add")
                events = await watch(runtime, started.conversation)
                assert ending(events) == "STORAGE_UNAVAILABLE"
                assert (await runtime.run(started.run)).status is RunStatus.FAILED
            if step < 1:
                house.model.script([[ADD], [say("Done.")]])
            run = await outcome(runtime, await resume(runtime, started.conversation))
            assert run.status is RunStatus.COMPLETED
            roles = [role for role, _ in await told(runtime, started.conversation)]
            assert roles == ["user", "assistant", "tool", "assistant"]
        assert house.effects == ["add"]

    scenario(work())


def test_a_result_that_cannot_be_saved_is_not_told(house: House) -> None:
    async def work() -> None:
        house.model.script([[ADD], [say("Done.")]])
        async with house.open() as runtime:
            with trouble(house, "INSERT ON writes WHEN NEW.task_path LIKE '%push%'"):
                started = await send(runtime, "Add")
                events = await watch(runtime, started.conversation)
            assert ending(events) == "STORAGE_UNAVAILABLE"
            assert "result" not in [getattr(sent.event, "event", "") for sent in events]
            run = await outcome(runtime, await resume(runtime, started.conversation))
            assert run.status is RunStatus.COMPLETED

    scenario(work())


def test_an_outcome_that_cannot_be_recorded_is_recorded_as_soon_as_it_can(house: House) -> None:
    async def work() -> None:
        house.model.script([[say("Done.")]])
        async with house.open() as runtime:
            with trouble(house, "UPDATE OF status ON runs"):
                started = await send(runtime, "hello")
                assert ending(await watch(runtime, started.conversation)) == "STORAGE_UNAVAILABLE"
                assert house.statuses() == ["running"]
                # Whoever comes later is told the same, and not a stream without an end.
                assert ending(await watch(runtime, started.conversation)) == "STORAGE_UNAVAILABLE"
            await until_status(runtime, started.run, RunStatus.COMPLETED)
            view = await runtime.conversation(started.conversation)
            assert (view.active_run, view.resumable) == (None, False)
            assert view.conversation.message_count == 2

    scenario(work())


class Held(Runs):
    """The first outcome is committed, and whoever recorded it is told once `go` is set."""

    def __init__(self, runs: Runs) -> None:
        super().__init__(runs._database)
        self.committed, self.go = asyncio.Event(), asyncio.Event()

    async def finish(self, run_id: str, **outcome: Any) -> Run | None:
        recorded = await super().finish(run_id, **outcome)
        if not self.committed.is_set():
            self.committed.set()
            await self.go.wait()
        return recorded


def test_an_outcome_that_is_due_is_not_forgotten_for_one_that_was_recorded_twice(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as opened:
            runs = Held(opened.record.runs)
            executor = replace(opened.registry._executor, runs=runs)
            registry = Registry(runs=runs, executor=executor, protections=Protections())
            runtime = replace(opened, registry=registry)
            with trouble(house, "UPDATE OF status ON runs"):
                first = await send(runtime, "hello")
                await watch(runtime, first.conversation)
            settling = asyncio.create_task(registry.settle(first.conversation))
            await runs.committed.wait()
            house.model.hold(0)
            second = await send(runtime, "again", first.conversation)
            with trouble(house, "UPDATE OF status ON runs"):
                house.model.release()
                await watch(runtime, first.conversation)
                runs.go.set()
                await settling
            await until_status(runtime, second.run, RunStatus.COMPLETED)
            await runtime.drain()

    scenario(work())


def test_a_message_after_an_outcome_that_is_still_due_is_taken(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            with trouble(house, "UPDATE OF status ON runs"):
                started = await send(runtime, "hello")
                await watch(runtime, started.conversation)
                with pytest.raises(StorageUnavailable):
                    await send(runtime, "again", started.conversation)
            await outcome(runtime, await send(runtime, "again", started.conversation))
        assert house.statuses() == ["completed", "completed"]

    scenario(work())


def test_a_resume_of_a_finished_run_whose_outcome_is_still_due_is_refused(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            with trouble(house, "UPDATE OF status ON runs"):
                started = await send(runtime, "hello")
                await watch(runtime, started.conversation)
            with pytest.raises(RunNotResumable):
                await resume(runtime, started.conversation)
        assert house.statuses() == ["completed"]

    scenario(work())


def test_an_outcome_that_was_never_recorded_is_found_by_the_next_start(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            with trouble(house, "UPDATE OF status ON runs"):
                await watch(runtime, started.conversation)
                await runtime.drain()
        async with house.open("boot-2"):
            assert house.statuses() == ["completed"]

    scenario(work())


def test_a_message_that_cannot_be_recorded_is_refused_and_nothing_is_left_of_it(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            with trouble(house, "INSERT ON runs"), pytest.raises(StorageUnavailable):
                await send(runtime, "hello")
            assert not (await runtime.conversations(limit=10, before=None)).conversations
            run = await outcome(runtime, await send(runtime, "hello"))
            assert await only_conversation(runtime) == run.conversation_id

    scenario(work())


def test_a_locked_file_holds_a_run_up_and_does_not_fail_it(house: House) -> None:
    async def work() -> None:
        house.model.script([[ADD], [say("Done.")]])
        house.model.hold(0)
        async with house.open() as runtime:
            started = await send(runtime, "Add")
            await asyncio.to_thread(house.model.wait_held)
            with closing(sqlite3.connect(house.database, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                house.model.release()
                while not runtime.record.checkpoints.lock.locked():  # noqa: ASYNC110 - the library's
                    await asyncio.sleep(0.001)
                other.execute("COMMIT")
            assert (await outcome(runtime, started)).status is RunStatus.COMPLETED

    scenario(work())


def test_a_damaged_checkpoint_keeps_no_other_conversation_from_being_served(house: House) -> None:
    async def work() -> None:
        house.model.script([[say("One.")], [say("Two.")]])
        async with house.open() as runtime:
            damaged = await send(runtime, "First")
            await outcome(runtime, damaged)
        with closing(sqlite3.connect(house.database, isolation_level=None)) as connection:
            connection.execute("UPDATE checkpoints SET checkpoint = x'c1'")
            connection.execute("UPDATE runs SET status = 'running', finished_at = NULL")
        async with house.open() as runtime:
            assert (await runtime.run(damaged.run)).status is RunStatus.INTERRUPTED
            with pytest.raises(StorageUnavailable, match="damaged"):
                await runtime.conversation(damaged.conversation)
            whole = await outcome(runtime, await send(runtime, "Second"))
            assert whole.status is RunStatus.COMPLETED
            await runtime.delete_conversation(damaged.conversation)

    scenario(work())


def test_a_resume_is_refused_by_the_run_it_saw_even_if_that_ends_before_it_is_claimed(
    house: House,
) -> None:
    async def work() -> None:
        house.model.script([[say("Done.")]])
        house.model.hold(1)
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            await asyncio.to_thread(house.model.wait_held)
            with closing(sqlite3.connect(house.database, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")  # no claim can be made as long as this is open
                with pytest.raises(SessionInProgress) as refused:
                    await resume(runtime, started.conversation)
            assert refused.value.run == started.run
            house.model.release()
            await outcome(runtime, started)
        assert house.statuses() == ["completed"]

    scenario(work())
