"""The record, opened: one file, ours and LangGraph's tables, each on its own connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sophos.protections import Protection, Protections
from sophos.storage.checkpoints import Checkpoints, open_checkpoints
from sophos.storage.conversations import Conversations
from sophos.storage.database import Database, open_database
from sophos.storage.runs import Runs


@dataclass(frozen=True, kw_only=True)
class Record:
    """What survives, by table, and the file it is in."""

    database: Database
    conversations: Conversations
    runs: Runs
    checkpoints: Checkpoints


@asynccontextmanager
async def open_record(path: Path, *, owner: str, protections: Protections) -> AsyncIterator[Record]:
    """Own and open the file. Raises StartupError, with nothing left open."""
    single_owner = protections.on(Protection.SINGLE_OWNER)
    barrier = protections.on(Protection.WRITE_BARRIER)
    erase = protections.on(Protection.ERASE)
    async with (
        open_database(path, owner=owner, single_owner=single_owner, erase=erase) as database,
        open_checkpoints(
            database.path, file=database.file, barrier=barrier, erase=erase
        ) as checkpoints,
    ):
        yield Record(
            database=database,
            conversations=Conversations(database),
            runs=Runs(database),
            checkpoints=checkpoints,
        )
