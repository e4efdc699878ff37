"""Deaths in a row: during a resume, during a new message, after a cancel, again and again."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from runtime_parts import (
    House,
    check_history,
    only_conversation,
    outcome,
    resume,
    scenario,
    told,
)
from runtime_parts import say as send
from victims import kill_at

from lab.model.script import call, say, think
from sophos.errors import NotFound, RunNotResumable, StorageUnavailable
from sophos.protections import Protections
from sophos.run import RunStatus
from sophos.runtime.lifecycle import open_runtime
from sophos.runtime.recovery import recover
from sophos.storage.record import open_record

CALLS: Any = [think("Both."), call("lab__add", text="one"), call("lab__set", text="two")]
ANSWER: Any = [think("That is all."), say("Both are done.")]
REFUSE_DELETION: Final = """
    CREATE TRIGGER refuse BEFORE DELETE ON checkpoints BEGIN SELECT RAISE(ABORT, 'trouble'); END
"""
ROLES: Final = ["user", "assistant", "tool", "tool", "assistant"]


def conversation_of(house: House) -> str:
    ((found,),) = house.rows("SELECT id FROM conversations")
    return str(found)


def die_resuming(house: House, rule: str, **settings: Any) -> None:
    kill_at(house, rule, text=None, conversation=conversation_of(house), **settings)


async def resumed_to_the_end(house: House) -> list[tuple[str, str]]:
    async with house.open("last") as runtime:
        conversation = await only_conversation(runtime)
        run = await outcome(runtime, await resume(runtime, conversation))
        assert run.status is RunStatus.COMPLETED
        with pytest.raises(RunNotResumable):
            await resume(runtime, conversation)
        return await told(runtime, conversation)


@pytest.mark.parametrize(
    "second",
    [
        *("run.recorded", "agent.asking(1)", "agent.streaming@2", "agent.answered(1)"),
        *("step.saving(1)", "step.saved(1)", "tool.recorded(lab__set)", "agent.asking(3)"),
        *("agent.answered(3)", "step.saving(3)"),
    ],
)
def test_a_death_during_the_resume_of_a_dead_run(house: House, second: str) -> None:
    house.model.script([CALLS, CALLS, ANSWER])
    kill_at(house, "agent.answered(1)", text="Do both")
    die_resuming(house, second)
    house.model.script([ANSWER] if "tool" in second or house.effects else [CALLS, ANSWER])
    if second in ("step.saving(1)", "step.saved(1)"):
        house.model.script([ANSWER])

    async def work() -> None:
        record = await resumed_to_the_end(house)
        assert [role for role, _ in record] == ROLES

    scenario(work())
    assert house.statuses() == ["interrupted", "interrupted", "completed"]
    assert house.effects == ["add", "set"]


def test_a_death_during_a_resume_that_is_nearly_over_is_completed(house: House) -> None:
    house.model.script([CALLS, ANSWER])
    kill_at(house, "step.saved(1)", text="Do both")
    die_resuming(house, "graph.finished")

    async def work() -> None:
        async with house.open() as runtime:
            assert [role for role, _ in await told(runtime, conversation_of(house))] == ROLES

    scenario(work())
    assert house.statuses() == ["interrupted", "completed"]


@pytest.mark.parametrize(
    "first", ["run.recorded", "step.saved(-1)", "input.saved", "step.saved(1)"]
)
@pytest.mark.parametrize("second", ["run.recorded", "step.saved#1", "step.saved#2"])
def test_two_messages_whose_processes_died_come_in_their_order(
    house: House, first: str, second: str
) -> None:
    house.model.script([CALLS, CALLS, CALLS])
    kill_at(house, first, text="First")
    kill_at(house, second, text="Second", conversation=conversation_of(house))
    house.model.script([[say("Both heard.")]])
    house.model.forget_requests()

    async def work() -> None:
        record = await resumed_to_the_end(house)
        assert [text for role, text in record if role == "user"] == ["First", "Second"]
        assert record[-1] == ("assistant", "Both heard.")

    scenario(work())
    (request,) = house.model.requests()
    check_history(request["body"]["messages"])
    assert house.statuses() == ["interrupted", "interrupted", "completed"]


def test_a_message_that_never_reached_a_thread_with_nothing_pending_is_not_completed(
    house: House,
) -> None:
    async def begin() -> None:
        async with house.open() as runtime:
            await outcome(runtime, await send(runtime, "First"))

    scenario(begin())
    kill_at(house, "run.recorded", text="Second", conversation=conversation_of(house))

    async def work() -> None:
        record = await resumed_to_the_end(house)
        assert [text for role, text in record if role == "user"] == ["First", "Second"]

    scenario(work())
    assert house.statuses() == ["completed", "interrupted", "completed"]


def test_a_cancel_that_was_on_record_is_the_outcome_even_though_the_process_died(
    house: House,
) -> None:
    house.model.script([CALLS, ANSWER])
    kill_at(house, "tool.recorded(lab__set)", text="Do both", cancel_first=True)

    async def work() -> None:
        record = await resumed_to_the_end(house)
        assert [role for role, _ in record] == ROLES

    scenario(work())
    assert house.statuses() == ["cancelled", "completed"]
    assert house.effects == ["add", "set"]


def test_a_resume_that_kills_the_process_each_time_is_given_up_and_a_message_begins_again(
    house: House,
) -> None:
    house.model.script([CALLS, *[ANSWER] * 5])
    kill_at(house, "agent.answered(3)", text="Do both")
    for _ in range(2):
        die_resuming(house, "agent.answered", max_attempts=3)

    async def work() -> None:
        async with house.open(max_attempts=3) as runtime:
            conversation = await only_conversation(runtime)
            run = await outcome(runtime, await resume(runtime, conversation))
            assert run.error_code == "ATTEMPTS_EXHAUSTED"
            assert (await runtime.conversation(conversation)).resumable
            run = await outcome(runtime, await send(runtime, "Once more", conversation))
            assert run.status is RunStatus.COMPLETED

    scenario(work())
    assert house.statuses() == [*["interrupted"] * 3, "failed", "completed"]


async def recover_and_die(house: House) -> None:
    """What a process does that dies right after it has recovered."""
    async with open_record(house.database, owner="dies", protections=Protections()) as record:
        await recover(record, protections=Protections(), now="2026-01-01T00:00:00.000Z")


def test_a_count_that_a_recovered_process_did_not_get_to_is_set_by_the_next(house: House) -> None:
    house.model.script([CALLS, ANSWER])
    kill_at(house, "graph.finished", text="Do both")

    async def work() -> None:
        await recover_and_die(house)
        assert house.statuses() == ["completed"]
        assert house.rows("SELECT message_count, counted FROM conversations") == [(0, 0)]
        async with house.open():
            pass  # closing waits for what is done beside the runs

    scenario(work())
    assert house.rows("SELECT message_count, counted FROM conversations") == [(len(ROLES), 1)]


def test_a_count_is_left_to_the_run_that_goes_on_meanwhile(house: House) -> None:
    house.model.hold(1)

    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            await asyncio.to_thread(house.model.wait_held)
            await runtime.record.conversations.recount(started.conversation, 99)
            assert house.rows("SELECT message_count, counted FROM conversations") == [(0, 0)]
            house.model.release()
            await outcome(runtime, started)
            await runtime.record.conversations.recount(started.conversation, 99)

    scenario(work())
    assert house.rows("SELECT message_count, counted FROM conversations") == [(2, 1)]


def test_a_deletion_that_failed_half_way_is_finished_when_it_is_asked_for_again(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            gone = await send(runtime, "hello")
            await outcome(runtime, gone)
            house.execute(REFUSE_DELETION)
            with pytest.raises(StorageUnavailable):
                await runtime.delete_conversation(gone.conversation)
            house.execute("DROP TRIGGER refuse")
            await runtime.delete_conversation(gone.conversation)
            assert house.rows("SELECT thread_id FROM checkpoints") == []
            assert house.rows("SELECT id FROM conversations") == []
            with pytest.raises(NotFound):
                await runtime.delete_conversation(gone.conversation)

    scenario(work())


def test_what_a_deletion_left_in_the_log_as_it_died_is_gone_after_the_next_start(
    house: House, tmp_path: Path
) -> None:
    file = tmp_path / "killed" / "sophos.db"
    log = file.with_name("sophos.db-wal")

    async def work() -> None:
        async with house.open() as runtime:
            gone = await send(runtime, "Say: the heliotrope goes.")
            await outcome(runtime, gone)
            runtime.record.database.erase = False  # the last row is gone, the log is not cut yet
            await runtime.delete_conversation(gone.conversation)
            file.parent.mkdir()
            shutil.copy(house.database, file)
            shutil.copy(house.database.with_name(house.database.name + "-wal"), log)
            assert b"heliotrope" in log.read_bytes()
        async with open_runtime(house.settings(database_path=file), boot_id="next"):
            assert b"heliotrope" not in log.read_bytes() + file.read_bytes()

    scenario(work())


def test_a_deletion_that_cannot_be_finished_keeps_nobody_from_starting(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            gone = await send(runtime, "hello")
            await outcome(runtime, gone)
            house.execute(REFUSE_DELETION)
            with pytest.raises(StorageUnavailable):
                await runtime.delete_conversation(gone.conversation)
        async with house.open() as runtime:
            recovery = (await runtime.readiness()).checks["recovery"]
            assert recovery.endswith("0 deletions finished, 1 not: see the log")
            assert (await outcome(runtime, await send(runtime, "again"))).error_code is None
            house.execute("DROP TRIGGER refuse")
        async with house.open() as runtime:
            recovery = (await runtime.readiness()).checks["recovery"]
            assert recovery.endswith("1 deletions finished")
        threads = house.rows("SELECT DISTINCT thread_id FROM checkpoints")
        assert threads == house.rows("SELECT id FROM conversations")

    scenario(work())


def test_what_is_deleted_after_a_crash_stays_deleted(house: House) -> None:
    house.model.script([CALLS])
    kill_at(house, "tool.returned(lab__add)", text="Do both")
    conversation = conversation_of(house)

    async def work() -> None:
        async with house.open() as runtime:
            await runtime.delete_conversation(conversation)
            with pytest.raises(NotFound):
                await runtime.conversation(conversation)
        async with house.open() as runtime:
            assert not (await runtime.conversations(limit=10, before=None)).conversations

    scenario(work())
    for table in ("conversations", "runs", "checkpoints", "writes"):
        assert house.rows(f"SELECT count(*) FROM {table}") == [(0,)]


@pytest.mark.parametrize(
    "damage",
    [
        *("checkpoints SET checkpoint = x'c1'", "checkpoints SET metadata = '{'"),
        *("writes SET value = x'c1'", "writes SET type = 'odd'"),
    ],
)
def test_a_damaged_thread_of_a_dead_run_is_told_of_and_keeps_no_other_from_starting(
    house: House, damage: str
) -> None:
    kill_at(house, "agent.answered(1)", text="Do both")
    conversation = conversation_of(house)
    with closing(sqlite3.connect(house.database, isolation_level=None)) as connection:
        connection.execute(f"UPDATE {damage}")

    async def work() -> None:
        async with house.open() as runtime:
            with pytest.raises(StorageUnavailable, match="damaged"):
                await runtime.conversation(conversation)
            with pytest.raises(StorageUnavailable, match="damaged"):
                await anext(await runtime.checkpoints(conversation))
            assert (await outcome(runtime, await send(runtime, "hello"))).error_code is None
            await runtime.delete_conversation(conversation)

    scenario(work())
    assert house.statuses() == ["completed"]


def test_a_repeated_request_with_the_same_key_finds_the_dead_run(house: House) -> None:
    kill_at(house, "run.recorded", text="Do both", key="only once")

    async def work() -> None:
        async with house.open() as runtime:
            again = await runtime.start_message("Do both", conversation=None, key="only once")
            assert (await runtime.run(again.run)).status is RunStatus.INTERRUPTED
            assert again.conversation == conversation_of(house)

    scenario(work())
    assert house.statuses() == ["interrupted"]
