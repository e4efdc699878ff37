"""One connection with everything that durability rests on, and what its failures are called.

Nothing is kept here: whoever opens a connection holds it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, Literal

import aiosqlite

from sophos.errors import StartupError, StorageUnavailable

BUSY_TIMEOUT: Final = 5.0  # seconds to wait for another connection's write
Parameters = Sequence[Any] | Mapping[str, Any]


@contextmanager
def storage_edge() -> Iterator[None]:
    """Turn what SQLite and the disk raise into StorageUnavailable."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StorageUnavailable from error


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
