"""The one file that survives: one owner, a write-ahead log, full sync, migrations.

What a transaction has committed is durable, power loss included. The connections, the order of
writers and the hold on the file die with the process.

    writer   every change, one transaction at a time
    reader   sees what is committed, and never waits for the writer

LangGraph's saver commits on whatever connection it holds, so it opens one of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import aiosqlite

from sophos.errors import StartupError, StorageUnavailable
from sophos.storage.connection import (
    BUSY_TIMEOUT,
    Parameters,
    connect,
    fetch,
    storage_edge,
)
from sophos.storage.open_file import OpenFile
from sophos.storage.owner import hold
from sophos.storage.schema import inspect, migrate

CUT_WAIT: Final = 0.1  # seconds to wait for readers of what a deletion erased
STARTUP_BUSY_TIMEOUT: Final = 1.0  # seconds; a file that is locked at start-up has another user
OLDEST_SQLITE: Final = (3, 37, 0)  # STRICT tables
_PERMISSIONS: Final = "Check the permissions of the file and its folder, or set DATABASE_PATH."
_REASONS: Final = {
    sqlite3.SQLITE_NOTADB: "is not a database. Set DATABASE_PATH to another file.",
    sqlite3.SQLITE_CORRUPT: "is damaged. Restore it from a copy, or move it away to start afresh.",
    sqlite3.SQLITE_BUSY: "is locked by another program. Close that program, then start again.",
    sqlite3.SQLITE_FULL: "cannot be written: the disk is full. Free some space, then start again.",
    sqlite3.SQLITE_READONLY: f"cannot be written. {_PERMISSIONS}",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened. {_PERMISSIONS}",
}

logger = logging.getLogger(__name__)


class Database:
    """The open file. Use `open_database`.

    `write_lock` puts this process's writers in a fair order: whoever writes on a connection of its
    own may hold it too. SQLite's own waiting is a poll without order.
    """

    def __init__(
        self,
        path: Path,
        *,
        writer: aiosqlite.Connection,
        reader: aiosqlite.Connection,
        owned: bool = True,
        erase: bool = True,
    ) -> None:
        self.path = path
        self.file = OpenFile(path, owned=owned)
        self.erase = erase
        self.write_lock = asyncio.Lock()
        self._writer = writer
        self._reader = reader
        self._closed = False
        self._found_locked = 0.0  # the loop's time when a wait for another program's lock was over

    async def read(self, sql: str, parameters: Parameters = ()) -> list[sqlite3.Row]:
        """Return all rows of one query, as of the last commit."""
        self._refuse_if_closed()
        with storage_edge():
            return await fetch(self._reader, sql, parameters)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[aiosqlite.Connection]:
        """Commit at the end of the block; roll back on any exception, cancellation included.

        Once the block is left without an exception, what it wrote is on disk, in the file that the
        next start will open. Cancelled while the commit is under way, the transaction is whole or
        not there, and the caller is not told which.
        """
        clock = asyncio.get_running_loop().time
        asked = clock()
        async with self.write_lock:
            self._refuse_if_closed()
            if self._found_locked > asked:
                # Who waited behind one that waited in vain has waited for the same: not once more,
                # or the last of a hundred is refused after minutes.
                raise StorageUnavailable
            # A statement goes on in aiosqlite's thread after its caller was cancelled, and the
            # thread takes them in order: a rollback asked for now comes after all of them, and
            # before the next transaction, even if nobody waits for its end.
            self.file.check()
            with storage_edge():
                try:
                    if self._writer.in_transaction:
                        await self._writer.rollback()
                    try:
                        await self._writer.execute_fetchall("BEGIN IMMEDIATE")
                    except sqlite3.Error:
                        self._found_locked = clock()
                        raise
                    yield self._writer
                    await self._writer.commit()
                    self.file.check()
                except BaseException:
                    # What was raised first says more; a failed rollback is tried again by the next.
                    with suppress(sqlite3.Error):
                        await self._writer.rollback()
                    raise

    async def prove_writable(self) -> None:
        """Commit a page as it is. Raises StorageUnavailable if the next message could not be kept."""
        async with self.transaction() as connection:
            [(version,)] = await fetch(connection, "PRAGMA user_version")
            await fetch(connection, f"PRAGMA user_version = {version}")

    async def rewrite(self) -> None:
        """Write the file anew from its rows: a deleted one may have left copies of itself.

        SQLite moves rows from one page to another as it makes room, and leaves the old bytes in the
        gap; of what is deleted, `secure_delete` overwrites the place where it was last. It takes room
        for a copy and, of every other writer, a second for some 70 MB.
        """
        if not self.erase:
            return
        async with self.write_lock:
            self._refuse_if_closed()
            # What was deleted is deleted: without room for a copy, its traces stay until the next.
            try:
                await self._writer.execute_fetchall("VACUUM")
            except sqlite3.Error:
                logger.warning("Traces of a deletion stay in the file.", exc_info=True)

    async def cut_log(self) -> None:
        """Copy the log into the file and cut it to nothing: it still has what a deletion erased.

        While someone reads an older state, it stays until the next time, the next start, or the
        end of the last connection: every other writer waits meanwhile, so it is not waited for long.
        """
        if not self.erase:
            return
        async with self.write_lock:
            self._refuse_if_closed()
            # What was deleted is deleted, whether or not the log could be cut.
            with suppress(sqlite3.Error):
                try:
                    await _wait_at_most(self._writer, CUT_WAIT)
                    await self._writer.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    await _wait_at_most(self._writer, BUSY_TIMEOUT)

    async def close(self) -> None:
        """Let the transaction under way end, refuse the next, copy the log into the file."""
        self._closed = True
        async with self.write_lock:
            # The log is as durable as the file: what cannot be copied now is copied later.
            with suppress(sqlite3.Error):
                await self._writer.execute_fetchall("PRAGMA wal_checkpoint(PASSIVE)")

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StorageUnavailable("The database is closed: the server is shutting down.")


@asynccontextmanager
async def open_database(
    path: Path, *, owner: str, single_owner: bool = True, erase: bool = True
) -> AsyncIterator[Database]:
    """Own, check, open and migrate the file; make it and its folder if they are missing.

    `owner` is the boot id. Raises StartupError, saying what is wrong and what to do, and leaves a
    file it cannot use as it was.
    """
    async with AsyncExitStack() as opened:
        with _startup_edge(path):
            file = _prepare(path)
            if single_owner:
                await opened.enter_async_context(hold(file, owner=owner))
            inspect(file)
            writer = await opened.enter_async_context(
                connect(file, busy_timeout=STARTUP_BUSY_TIMEOUT, erase=erase)
            )
            await migrate(writer)
            await _wait_at_most(writer, BUSY_TIMEOUT)
            reader = await opened.enter_async_context(connect(file))
            await reader.execute_fetchall("PRAGMA query_only = ON")
        database = Database(file, writer=writer, reader=reader, owned=single_owner, erase=erase)
        opened.push_async_callback(database.close)
        yield database


async def _wait_at_most(connection: aiosqlite.Connection, seconds: float) -> None:
    await connection.execute_fetchall(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


def _prepare(path: Path) -> Path:
    """Return the absolute path, links followed, so that one file has one lock whatever its names."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StartupError(
            f"SQLite {sqlite3.sqlite_version} is too old. Use a Python with SQLite 3.37 or newer."
        )
    file = path.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not file.is_file():
        raise StartupError(f"{path} is not a file. Set DATABASE_PATH to a file.")
    # SQLite would open a file without the right to write, and say so at the first write alone.
    effective = os.access in os.supports_effective_ids
    if file.exists() and not os.access(file, os.R_OK | os.W_OK, effective_ids=effective):
        raise StartupError(f"{path} cannot be written. {_PERMISSIONS}")
    return file


@contextmanager
def _startup_edge(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the kind; the rest says more than a person needs.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        reason = _REASONS.get(kind, f"cannot be used ({error}). Check its disk.")
        raise StartupError(f"The database {path} {reason}") from error
    except OSError as error:
        raise StartupError(
            f"The database {path} cannot be used ({error.strerror}). {_PERMISSIONS}"
        ) from error
