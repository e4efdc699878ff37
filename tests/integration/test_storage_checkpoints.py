"""The saver's own connection under cancellation and errors: no write is ever left half way."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from storage_rows import make_run

from sophos.errors import StorageUnavailable
from sophos.protections import Protections
from sophos.storage.record import Record, open_record
from sophos.storage.whole import whole

AT: Any = {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}}


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Record]:
    async with open_record(folder / "db", owner="boot", protections=Protections()) as record:
        yield record


async def put(record: Record) -> None:
    await record.checkpoints.aput(AT, empty_checkpoint(), {"step": 0, "source": "loop"}, {})


async def put_writes(record: Record) -> None:
    at: Any = {"configurable": {**AT["configurable"], "checkpoint_id": "1"}}
    writes = [("messages", "a result"), ("branch:to:agent", None)]
    await record.checkpoints.aput_writes(at, writes, "task")


class Told:
    """An observer that remembers what it was told is on disk."""

    def __init__(self) -> None:
        self.saved: list[str] = []

    def writes_saved(self, writes: Any) -> None:
        self.saved.append(f"writes {writes}")

    def checkpoint_saving(self, step: int) -> None: ...

    def checkpoint_saved(self, step: int, source: str) -> None:
        self.saved.append(f"checkpoint {step} {source}")


@pytest.mark.parametrize(("write", "table"), [(put, "checkpoints"), (put_writes, "writes")])
def test_a_write_that_is_cancelled_is_whole_and_holds_nobody_up(
    tmp_path: Path, write: Any, table: str
) -> None:
    async def work() -> None:
        async with opened(tmp_path) as record:
            with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                writing = asyncio.create_task(write(record))
                while not record.checkpoints.lock.locked():  # noqa: ASYNC110 - the library's own lock
                    await asyncio.sleep(0)
                for _ in range(3):
                    writing.cancel()
                    await asyncio.sleep(0)
                other.execute("COMMIT")
                with pytest.raises(asyncio.CancelledError):
                    await writing
                assert other.execute(f"SELECT count(*) > 0 FROM {table}").fetchone() == (1,)
            await record.runs.claim(run=make_run(), title="Hello", body="")

    asyncio.run(work())


def test_a_write_that_never_ends_holds_a_cancelled_caller_for_so_long_and_no_longer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with opened(tmp_path) as record:
            begun, end = asyncio.Event(), asyncio.Event()

            async def write() -> None:
                begun.set()
                await end.wait()

            writing = asyncio.create_task(
                whole(write(), connection=record.checkpoints.conn, patience=0.01)
            )
            await begun.wait()
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
            end.set()

    asyncio.run(work())
    assert "A write did not end in time." in caplog.text


@pytest.mark.parametrize(("write", "table"), [(put, "checkpoints"), (put_writes, "writes")])
def test_a_write_that_fails_leaves_no_transaction_behind(
    tmp_path: Path, write: Any, table: str
) -> None:
    rows = 1 if write is put_writes else 0  # the second of two rows fails
    refuse = f"""
        CREATE TRIGGER refuse BEFORE INSERT ON {table}
        WHEN (SELECT count(*) FROM {table}) >= {rows}
        BEGIN SELECT RAISE(ABORT, 'disk trouble'); END
    """

    async def work() -> None:
        async with opened(tmp_path) as record:
            with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as other:
                other.execute(refuse)
                with pytest.raises(StorageUnavailable):
                    await write(record)
                assert other.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
            await record.runs.claim(run=make_run(), title="Hello", body="")

    asyncio.run(work())


@pytest.mark.parametrize("write", [put, put_writes])
def test_whoever_waits_behind_a_write_that_waited_in_vain_is_refused_with_it(
    tmp_path: Path, write: Any
) -> None:
    tried: list[str] = []

    async def work() -> None:
        async with opened(tmp_path) as record:
            connection = record.checkpoints.conn
            await connection.execute_fetchall("PRAGMA busy_timeout = 100")
            await connection.set_trace_callback(tried.append)
            with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                writes = [asyncio.create_task(write(record)) for _ in range(5)]
                await asyncio.wait(writes)
                assert {type(each.exception()) for each in writes} == {StorageUnavailable}
                assert sum(said.startswith("INSERT") for said in tried) == 1
                other.execute("COMMIT")
            await write(record)

    asyncio.run(work())


@pytest.mark.parametrize("write", [put, put_writes])
def test_a_write_into_a_file_that_is_moved_meanwhile_is_not_told_of(
    tmp_path: Path, write: Any
) -> None:
    async def work() -> None:
        async with opened(tmp_path) as record:
            told = Told()
            with (
                closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as other,
                record.checkpoints.observed("thread", told),
            ):
                other.execute("BEGIN IMMEDIATE")
                writing = asyncio.create_task(write(record))
                while not record.checkpoints.lock.locked():  # noqa: ASYNC110 - the library's own lock
                    await asyncio.sleep(0)
                (tmp_path / "db").rename(tmp_path / "moved")
                other.execute("COMMIT")
                with pytest.raises(StorageUnavailable, match="moved"):
                    await writing
            assert told.saved == []

    asyncio.run(work())
