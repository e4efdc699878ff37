"""A transaction is whole or not there, whoever is cancelled, killed or refused in the middle."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from storage_rows import Store, make_run, open_store

from sophos.errors import StorageUnavailable
from sophos.run import Run

CHILD = Path(__file__).with_name("storage_child.py")
STATEMENTS = ["BEGIN", "UPDATE", "INSERT", "COMMIT"]


async def cancel_at(store: Store, run: Run, *statements: str) -> None:
    """Claim `run` in a task that is cancelled while each of these statements is under way."""
    task = asyncio.create_task(store.runs.claim(run=run, title="Hello", body=""))
    loop = asyncio.get_running_loop()

    def cancel(said: str) -> None:
        if said.split(maxsplit=1)[0] in statements:
            loop.call_soon_threadsafe(task.cancel)

    await store.database._writer.set_trace_callback(cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.database._writer.set_trace_callback(lambda _: None)


@pytest.mark.parametrize("again", [(), ("ROLLBACK",)], ids=["once", "twice"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_cancelled_claim_is_whole_or_not_there(
    tmp_path: Path, statement: str, again: tuple[str, ...]
) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            cancelled = make_run()
            await cancel_at(store, cancelled, statement, *again)
            after = await store.start(make_run())
            page, _ = await store.conversations.page(10, None)
            ids = {summary.conversation.id for summary in page}
            assert (cancelled.conversation_id in ids) == (statement == "COMMIT")
            assert (await store.runs.get(cancelled.id) is not None) == (statement == "COMMIT")
            assert after.conversation_id in ids

    asyncio.run(scenario())


def test_a_claim_that_is_cancelled_while_it_queues_writes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            run = make_run()
            async with store.database.transaction():
                task = asyncio.create_task(store.runs.claim(run=run, title="Hello", body=""))
                await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert await store.runs.get(run.id) is None
            await store.start(run)

    asyncio.run(scenario())


async def delete_every_run_and_raise(store: Store) -> None:
    async with store.database.transaction() as connection:
        await connection.execute_fetchall("DELETE FROM runs")
        raise LookupError


def test_an_exception_in_the_block_rolls_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            run = await store.start(make_run())
            with pytest.raises(LookupError):
                await delete_every_run_and_raise(store)
            assert await store.runs.get(run.id) == run

    asyncio.run(scenario())


def test_a_reader_sees_nothing_before_the_commit_and_does_not_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            run = await store.start(make_run())
            async with store.database.transaction() as connection:
                await connection.execute_fetchall("DELETE FROM runs")
                assert await store.runs.get(run.id) == run
            assert await store.runs.get(run.id) is None

    asyncio.run(scenario())


def test_nothing_is_written_outside_a_transaction(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            run = await store.start(make_run())
            with pytest.raises(StorageUnavailable):
                await store.database.read("DELETE FROM runs")
            assert await store.runs.get(run.id) == run

    asyncio.run(scenario())


def test_a_full_database_acknowledges_nothing_and_works_again_with_space(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            kept = await store.start(make_run())
            writer = store.database._writer
            [(pages,)] = await writer.execute_fetchall("PRAGMA page_count")
            await writer.execute_fetchall(f"PRAGMA max_page_count = {pages}")
            large = make_run(input="x" * 100_000)
            with pytest.raises(StorageUnavailable) as caught:
                await store.start(large)
            assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
            assert await store.runs.unfinished() == [kept]
            await writer.execute_fetchall("PRAGMA max_page_count = 1000000")
            await store.start(large)

    asyncio.run(scenario())


def test_a_file_locked_by_another_program_is_storage_unavailable(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            await store.database._writer.execute_fetchall("PRAGMA busy_timeout = 0")
            with closing(sqlite3.connect(store.database.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                with pytest.raises(StorageUnavailable):
                    await store.start(make_run())
            await store.start(make_run())

    asyncio.run(scenario())


def test_who_queued_behind_a_writer_that_found_the_file_locked_does_not_wait_again(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        tried: list[str] = []
        async with open_store(tmp_path) as store:
            await store.database._writer.execute_fetchall("PRAGMA busy_timeout = 0")
            await store.database._writer.set_trace_callback(tried.append)
            with closing(sqlite3.connect(store.database.path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                claims = [store.runs.claim(run=make_run(), title="", body="") for _ in range(5)]
                refused = await asyncio.gather(*claims, return_exceptions=True)
            assert [type(each) for each in refused] == [StorageUnavailable] * 5
            assert tried.count("BEGIN IMMEDIATE") == 1
            await store.start(make_run())

    asyncio.run(scenario())


def test_a_closed_database_refuses_reads_and_transactions(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            pass
        with pytest.raises(StorageUnavailable):
            await store.runs.unfinished()
        with pytest.raises(StorageUnavailable):
            await store.runs.request_cancel("id", "now")

    asyncio.run(scenario())


@pytest.mark.parametrize("lines", [1, 10, 100])
def test_what_a_killed_process_acknowledged_is_there(tmp_path: Path, lines: int) -> None:
    command = [sys.executable, str(CHILD), "claim", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        said = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        # The rest of the pipe was acknowledged too; a line cut by the kill was not.
        said += [line for line in process.stdout if line.endswith("\n")]
    acknowledged = [line.split() for line in said]

    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            recorded = {row["id"]: row["status"] for row in await every_run(store)}
            for status, run in acknowledged:
                assert recorded[run] in {status, "completed"}
            [(broken,)] = await store.database.read("PRAGMA integrity_check")
            assert broken == "ok"

    asyncio.run(scenario())


async def every_run(store: Store) -> list[sqlite3.Row]:
    rows = await store.database.read(
        "SELECT runs.id, status FROM runs JOIN conversations ON conversations.id = conversation_id"
    )
    [(count,)] = await store.database.read("SELECT count(*) FROM runs")
    assert len(rows) == count
    return rows


def test_a_transaction_in_a_file_that_is_moved_meanwhile_is_not_acknowledged(
    tmp_path: Path,
) -> None:
    async def work() -> None:
        async with open_store(tmp_path / "db") as store:
            with pytest.raises(StorageUnavailable, match="moved"):
                async with store.database.transaction():
                    (tmp_path / "db").rename(tmp_path / "moved")

    asyncio.run(work())
