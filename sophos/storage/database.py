"""The one file that survives: one owner, a write-ahead log, full sync, migrations.

What a transaction has committed is durable, power loss included. The connections, the order of
writers and the hold on the file die with the process.

    writer   every change, one transaction at a time
    reader   sees what is committed, and never waits for the writer

LangGraph's saver commits on whatever connection it holds, so it opens one of its own (`connect`).
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

import aiosqlite

from sophos.errors import StartupError, StorageUnavailable
from sophos.storage.owner import hold
from sophos.storage.schema import inspect, migrate

BUSY_TIMEOUT: Final = 5.0  # seconds to wait for another connection's write
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
Parameters = Sequence[Any] | Mapping[str, Any]


@contextmanager
def storage_edge() -> Iterator[None]:
    """Turn what SQLite and the disk raise into StorageUnavailable."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StorageUnavailable from error


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
        erase: bool = True,
    ) -> None:
        self.path = path
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

        Once the block is left without an exception, what it wrote is on disk. Cancelled while the
        commit is under way, the transaction is whole or not there, and the caller is not told which.
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
                except BaseException:
                    # What was raised first says more; a failed rollback is tried again by the next.
                    with suppress(sqlite3.Error):
                        await self._writer.rollback()
                    raise

    async def cut_log(self) -> None:
        """Copy the log into the file and cut it to nothing: it still has what a deletion erased.

        If someone reads or writes for longer than the busy timeout, it stays until the next time,
        or until the last connection closes.
        """
        if self.erase:
            self._refuse_if_closed()
            with storage_edge():
                await self._writer.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")

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


async def fetch(
    connection: aiosqlite.Connection, sql: str, parameters: Parameters = ()
) -> list[sqlite3.Row]:
    """Run one statement to its end and return its rows, in one visit to the connection's thread."""
    # aiosqlite's annotation leaves out the mapping that sqlite3 takes.
    values: Iterable[Any] = parameters
    return list(await connection.execute_fetchall(sql, values))


@asynccontextmanager
async def connect(
    path: Path,
    *,
    isolation_level: Literal["DEFERRED"] | None = None,
    busy_timeout: float = BUSY_TIMEOUT,
    erase: bool = True,
) -> AsyncIterator[aiosqlite.Connection]:
    """Open a connection with everything that durability rests on; close it at the end of the block.

    `isolation_level` None: whoever writes begins its transactions. Raises sqlite3.Error.
    """
    async with aiosqlite.connect(
        path, isolation_level=isolation_level, timeout=busy_timeout
    ) as connection:
        connection.row_factory = sqlite3.Row
        [(mode,)] = await connection.execute_fetchall("PRAGMA journal_mode = WAL")
        if mode != "wal":
            raise StartupError(
                f"{path} is on a disk that cannot hold a write-ahead log."
                " Set DATABASE_PATH to a file on a local disk."
            )
        await connection.execute_fetchall("PRAGMA synchronous = FULL")
        # macOS alone: there a plain sync stops at the drive's cache, which power loss empties.
        await connection.execute_fetchall("PRAGMA fullfsync = ON")
        await connection.execute_fetchall("PRAGMA foreign_keys = ON")
        # Said either way: what SQLite does unless it is told was chosen by whoever built it.
        await connection.execute_fetchall(f"PRAGMA secure_delete = {'ON' if erase else 'OFF'}")
        yield connection


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
            await writer.execute_fetchall(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT * 1000)}")
            reader = await opened.enter_async_context(connect(file))
            await reader.execute_fetchall("PRAGMA query_only = ON")
        database = Database(file, writer=writer, reader=reader, erase=erase)
        opened.push_async_callback(database.close)
        yield database


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
