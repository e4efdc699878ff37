"""Rows for the storage tests, and the one way they open a database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from sophos.run import Run, RunKind, RunStatus
from sophos.storage.conversations import Conversations
from sophos.storage.database import Database, open_database
from sophos.storage.runs import Runs

EARLY = "2026-01-01T00:00:00.000Z"
LATE = "2026-01-02T00:00:00.000Z"


def make_run(conversation_id: str | None = None, **changes: Any) -> Run:
    """Return a running message run; of a new conversation unless one is named."""
    row: dict[str, Any] = {
        "id": str(uuid4()),
        "conversation_id": conversation_id or str(uuid4()),
        "kind": RunKind.MESSAGE,
        "input": "Hello",
        "resume_of": None,
        "status": RunStatus.RUNNING,
        "error_code": None,
        "error_message": None,
        "cancel_requested_at": None,
        "idempotency_key": None,
        "owner": "boot-1",
        "attempt": 1,
        "started_at": EARLY,
        "finished_at": None,
    }
    return Run(**(row | changes))


@dataclass(frozen=True, kw_only=True)
class Store:
    database: Database
    runs: Runs
    conversations: Conversations

    async def start(self, run: Run) -> Run:
        """Claim a run: the first of its conversation, or a further one."""
        known = await self.conversations.get(run.conversation_id)
        return (await self.runs.claim(run=run, title=None if known else "Hello", body="")).run

    async def end(
        self, run: Run, status: RunStatus = RunStatus.COMPLETED, at: str = LATE, **outcome: Any
    ) -> bool:
        outcome = {"error_code": None, "error_message": None, "message_count": None} | outcome
        return await self.runs.finish(run.id, status=status, at=at, **outcome) is not None


@asynccontextmanager
async def open_store(folder: Path, **options: Any) -> AsyncIterator[Store]:
    options = {"owner": "boot-1"} | options
    async with open_database(folder / "sophos.db", **options) as database:
        yield Store(database=database, runs=Runs(database), conversations=Conversations(database))
