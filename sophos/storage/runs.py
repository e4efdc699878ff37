"""Runs in the database: claim, finish, cancel, list. All of it is durable.

At most one run of a conversation is active: a unique index holds the rule. Nothing leaves a final
state: every change names the statuses it may start from.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass
from typing import Final

import aiosqlite

from sophos.errors import NotFound, RunWaiting, SessionInProgress
from sophos.run import ACTIVE, TRANSITIONS, Run, RunKind, RunStatus
from sophos.storage.connection import fetch
from sophos.storage.database import Database
from sophos.storage.idempotency import BY_KEY, fingerprint, first_by_key, same_body

_INSERT: Final = """
    INSERT INTO runs (
        id, conversation_id, kind, input, resume_of, status, error_code, error_message,
        cancel_requested_at, idempotency_key, idempotency_body, owner, attempt, started_at,
        finished_at
    ) VALUES (
        :id, :conversation_id, :kind, :input, :resume_of, :status, :error_code, :error_message,
        :cancel_requested_at, :idempotency_key, :idempotency_body, :owner, :attempt, :started_at,
        :finished_at
    )
"""
# A cancel that was on record first is what became of the run, whatever it did meanwhile.
_FINISH: Final = """
    UPDATE runs SET
        status = iif(cancel_requested_at IS NULL, :status, 'cancelled'),
        error_code = iif(cancel_requested_at IS NULL, :error_code, NULL),
        error_message = iif(cancel_requested_at IS NULL, :error_message, NULL),
        finished_at = iif(cancel_requested_at IS NULL, :finished_at, :at)
    WHERE id = :id AND status IN (SELECT value FROM json_each(:sources))
    RETURNING *
"""
_TOUCH: Final = """
    UPDATE conversations SET updated_at = max(updated_at, :at),
        message_count = coalesce(:message_count, message_count),
        counted = :message_count IS NOT NULL
    WHERE id = :id AND deleted_at IS NULL
    RETURNING id
"""
# The words of the index runs_active, and no parameters: else SQLite does not use it.
_ACTIVE: Final = "SELECT * FROM runs WHERE conversation_id = ? AND status IN ('running', 'waiting')"
# Left alone, SQLite reads every run in order rather than sort a few. The plus keeps it from
# simplifying the first condition away, and the index with it.
_UNFINISHED: Final = """
    SELECT * FROM runs INDEXED BY runs_active
    WHERE status IN ('running', 'waiting') AND +status = 'running'
    ORDER BY sequence
"""
_NEWEST: Final = "SELECT * FROM runs WHERE conversation_id = ? ORDER BY sequence DESC LIMIT 1"
_AFTER: Final = """
    SELECT * FROM runs WHERE conversation_id = :id AND sequence > coalesce((
        SELECT sequence FROM runs WHERE id = :run AND conversation_id = :id
    ), 0)
    ORDER BY sequence
"""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The run a request stands for: its own, or the first one with the same idempotency key."""

    run: Run
    repeated: bool


class Runs:
    """The rows of `runs`, in the order in which they were claimed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, *, run: Run, title: str | None, body: str) -> Claim:
        """Record a run, and its conversation if `title` is given, before anything is driven.

        `body` is what the request said, to tell a repetition from another use of the same key.
        Raises NotFound, SessionInProgress, RunWaiting, IdempotencyKeyReused; SessionInProgress also
        if another run has come, and perhaps ended, since the caller saw the one that is to be resumed.
        """
        mark = fingerprint(body) if run.idempotency_key else None
        async with self._database.transaction() as connection:
            first = await first_by_key(connection, run.idempotency_key)
            if first is not None:
                return Claim(run=_run(same_body(first, body)), repeated=True)
            if title is not None:
                await fetch(
                    connection,
                    "INSERT INTO conversations (id, title, created_at, updated_at, message_count)"
                    " VALUES (:id, :title, :at, :at, 0)",
                    {"id": run.conversation_id, "title": title, "at": run.started_at},
                )
            if not await _touch(connection, run.conversation_id, at=run.started_at):
                raise NotFound(conversation=run.conversation_id)
            if run.resume_of is not None:
                await _refuse_if_overtaken(connection, run)
            try:
                await fetch(connection, _INSERT, asdict(run) | {"idempotency_body": mark})
            except sqlite3.IntegrityError:
                await refuse_if_active(connection, run.conversation_id)
                raise
            return Claim(run=run, repeated=False)

    async def repeated(self, key: str | None, body: str) -> Run | None:
        """The run that an earlier request with this key and body started; None if there is none.

        Raises IdempotencyKeyReused if the key came with another body.
        """
        if key is None:
            return None
        rows = await self._database.read(BY_KEY, (key,))
        return _run(same_body(rows[0], body)) if rows else None

    async def finish(
        self,
        run_id: str,
        *,
        status: RunStatus,
        error_code: str | None,
        error_message: str | None,
        message_count: int | None,
        at: str,
    ) -> Run | None:
        """Record an outcome, or that the run waits; None if the run may not become `status` any more.

        A run whose cancel was requested before becomes `cancelled`. `message_count` None leaves
        the conversation's count as it is, to be counted by the next start.
        """
        async with self._database.transaction() as connection:
            changed = await fetch(
                connection,
                _FINISH,
                {
                    "id": run_id,
                    "status": status,
                    "error_code": error_code,
                    "error_message": _storable(error_message),
                    "finished_at": None if status in ACTIVE else at,
                    "at": at,
                    "sources": json.dumps(
                        [source for source, targets in TRANSITIONS.items() if status in targets]
                    ),
                },
            )
            for row in changed:
                await _touch(connection, row["conversation_id"], at=at, message_count=message_count)
            return _first(changed)

    async def request_cancel(self, run_id: str, at: str) -> Run | None:
        """Put the request on record; None if the run is not active. A second request changes nothing."""
        async with self._database.transaction() as connection:
            rows = await fetch(
                connection,
                "UPDATE runs SET cancel_requested_at = coalesce(cancel_requested_at, ?)"
                " WHERE id = ? AND status IN ('running', 'waiting') RETURNING *",
                (at, run_id),
            )
            return _run(rows[0]) if rows else None

    async def get(self, run_id: str) -> Run | None:
        return _first(await self._database.read("SELECT * FROM runs WHERE id = ?", (run_id,)))

    async def latest(self, conversation_id: str) -> Run | None:
        return _first(await self._database.read(_NEWEST, (conversation_id,)))

    async def of(self, conversation_id: str) -> list[Run]:
        """Every run of the conversation, oldest first."""
        rows = await self._database.read(
            "SELECT * FROM runs WHERE conversation_id = ? ORDER BY sequence", (conversation_id,)
        )
        return [_run(row) for row in rows]

    async def unfinished(self) -> list[Run]:
        """Every run recorded as `running`, whoever owns it, oldest first."""
        return [_run(row) for row in await self._database.read(_UNFINISHED)]

    async def after(self, conversation_id: str, run_id: str | None) -> list[Run]:
        """The conversation's runs that are newer than `run_id`, oldest first.

        All of them if `run_id` is None or no run of this conversation.
        """
        rows = await self._database.read(_AFTER, {"id": conversation_id, "run": run_id})
        return [_run(row) for row in rows]


async def refuse_if_active(connection: aiosqlite.Connection, conversation_id: str) -> None:
    """Raise SessionInProgress or RunWaiting if a run of the conversation is active."""
    for row in await fetch(connection, _ACTIVE, (conversation_id,)):
        waiting = row["status"] == RunStatus.WAITING
        refusal = RunWaiting if waiting else SessionInProgress
        raise refusal(conversation=conversation_id, run=row["id"])


async def _refuse_if_overtaken(connection: aiosqlite.Connection, resume: Run) -> None:
    for newest in await fetch(connection, _NEWEST, (resume.conversation_id,)):
        if newest["id"] != resume.resume_of:
            await refuse_if_active(connection, resume.conversation_id)
            raise SessionInProgress(conversation=resume.conversation_id, run=newest["id"])


async def _touch(
    connection: aiosqlite.Connection,
    conversation_id: str,
    *,
    at: str,
    message_count: int | None = None,
) -> bool:
    rows = await fetch(
        connection, _TOUCH, {"id": conversation_id, "at": at, "message_count": message_count}
    )
    return bool(rows)


def _storable(text: str | None) -> str | None:
    # What a server said may hold half a surrogate pair; an outcome must be recorded all the same.
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")


def _first(rows: list[sqlite3.Row]) -> Run | None:
    return _run(rows[0]) if rows else None


def _run(row: sqlite3.Row) -> Run:
    return Run(
        id=row["id"],
        conversation_id=row["conversation_id"],
        kind=RunKind(row["kind"]),
        input=row["input"],
        resume_of=row["resume_of"],
        status=RunStatus(row["status"]),
        error_code=row["error_code"],
        error_message=row["error_message"],
        cancel_requested_at=row["cancel_requested_at"],
        idempotency_key=row["idempotency_key"],
        owner=row["owner"],
        attempt=row["attempt"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )
