"""A write that is whole or not there, whatever becomes of whoever asked for it.

LangGraph cancels a write along with whoever waits for it. Stopped between its statement and its
commit, it would hold up every other writer of the file. Nothing here outlives the write.

How long can one take? The driver's thread answers every statement it was given, and whoever comes
after its end is refused; a statement waits at most BUSY_TIMEOUT for another connection's lock; the
saver's own lock is passed on by statements of that kind alone. What is left is a disk that does
not answer, and a queue as long as the writes before: for those there is PATIENCE.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

import aiosqlite

from sophos.storage.connection import storage_edge

PATIENCE: Final = 30.0  # seconds that a cancelled caller waits for its write to end

logger = logging.getLogger(__name__)
T = TypeVar("T")


async def whole(
    write: Coroutine[Any, Any, T],
    *,
    connection: aiosqlite.Connection,
    patience: float = PATIENCE,
) -> T:
    """What `write` returns. Leaves nothing of one that fails.

    Cancelled, it waits for the write all the same, for at most `patience` seconds; the write goes
    on by itself. Raises StorageUnavailable and what `write` raises.
    """
    done = asyncio.get_running_loop().create_future()
    try:
        return await asyncio.shield(_to_its_end(write, connection, done))
    except asyncio.CancelledError:
        await _wait(done, patience)
        raise


async def _to_its_end(
    write: Coroutine[Any, Any, T],
    connection: aiosqlite.Connection,
    done: asyncio.Future[None],
) -> T:
    try:
        with storage_edge():
            return await write
    except BaseException:
        # Asked for before anyone else can have the connection: the driver keeps the order.
        with suppress(sqlite3.Error, ValueError):
            await connection.rollback()
        raise
    finally:
        done.set_result(None)


async def _wait(done: asyncio.Future[None], patience: float) -> None:
    clock = asyncio.get_running_loop().time
    until = clock() + patience
    while not done.done() and clock() < until:
        # A second cancel must not cut the waiting short.
        with suppress(asyncio.CancelledError):
            await asyncio.wait([done], timeout=until - clock())
    if not done.done():
        logger.error("A write did not end in time. It goes on by itself.")
