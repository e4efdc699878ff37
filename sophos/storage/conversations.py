"""Conversations in the database: create, read, list, delete. All of it is durable.

A deletion has two halves, because a thread's checkpoints are on a connection of their own:
`mark_deleted` hides the conversation for good and removes its runs, `purge` removes the last row
once the checkpoints are gone, and every byte of them that the file and its log still have. `deleted` lists what a dead process left between the two.
"""

from __future__ import annotations

import base64
import binascii
import sqlite3
from typing import Final

from sophos.conversation import Conversation, ConversationSummary
from sophos.errors import BadRequest, NotFound
from sophos.run import RunStatus
from sophos.storage.connection import fetch
from sophos.storage.database import Database
from sophos.storage.runs import refuse_if_active

_BEFORE_THE_NEWEST: Final = ("~", "")  # sorts after every time
_ID_LENGTH: Final = 36  # characters
_WRONG_CURSOR: Final = "`before` must be the `next` of an earlier page, unchanged."

_PAGE: Final = """
    SELECT conversations.*, runs.status, runs.error_code, runs.error_message
    FROM conversations
    LEFT JOIN runs ON runs.sequence = (
        SELECT max(sequence) FROM runs WHERE conversation_id = conversations.id
    )
    WHERE conversations.deleted_at IS NULL
      AND (conversations.updated_at, conversations.id) < (?, ?)
    ORDER BY conversations.updated_at DESC, conversations.id DESC
    LIMIT ?
"""

_RECOUNT: Final = """
    UPDATE conversations SET message_count = :count, counted = 1
    WHERE id = :id AND counted = 0 AND NOT EXISTS (
        SELECT 1 FROM runs WHERE conversation_id = :id AND status IN ('running', 'waiting')
    )
"""


class Conversations:
    """The rows of `conversations`. One that is marked deleted is not there for any reader."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, conversation: Conversation) -> None:
        """Add a conversation that has no run yet. `Runs.claim` adds one together with its first run."""
        async with self._database.transaction() as connection:
            await fetch(
                connection,
                "INSERT INTO conversations"
                " (id, title, created_at, updated_at, message_count, counted)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    conversation.id,
                    conversation.title,
                    conversation.created_at,
                    conversation.updated_at,
                    conversation.message_count or 0,
                    conversation.message_count is not None,
                ),
            )

    async def get(self, conversation_id: str) -> Conversation | None:
        rows = await self._database.read(
            "SELECT * FROM conversations WHERE id = ? AND deleted_at IS NULL", (conversation_id,)
        )
        return _conversation(rows[0]) if rows else None

    async def page(
        self, limit: int, before: str | None
    ) -> tuple[list[ConversationSummary], str | None]:
        """Return at most `limit` conversations, newest first, and the `before` of the next page.

        Raises BadRequest if `before` is not one that an earlier page gave.
        """
        bound = _BEFORE_THE_NEWEST if before is None else _position(before)
        rows = await self._database.read(_PAGE, (*bound, limit + 1))
        page = [_summary(row) for row in rows[:limit]]
        more = len(rows) > limit and page
        return page, _cursor(page[-1].conversation) if more else None

    async def uncounted(self) -> list[str]:
        """Ids of the conversations whose message count no run has set since one was claimed."""
        rows = await self._database.read(
            "SELECT id FROM conversations WHERE counted = 0 AND deleted_at IS NULL ORDER BY id"
        )
        return [row["id"] for row in rows]

    async def recount(self, conversation_id: str, message_count: int) -> None:
        """Set the message count alone, unless a run has set it meanwhile or is going to."""
        async with self._database.transaction() as connection:
            await fetch(connection, _RECOUNT, {"id": conversation_id, "count": message_count})

    async def mark_deleted(self, conversation_id: str, at: str) -> None:
        """Hide the conversation for good and remove its runs, which frees their idempotency keys.

        Raises NotFound, also if it is marked already; SessionInProgress or RunWaiting while a run
        is active.
        """
        async with self._database.transaction() as connection:
            await refuse_if_active(connection, conversation_id)
            marked = await fetch(
                connection,
                "UPDATE conversations SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL"
                " RETURNING id",
                (at, conversation_id),
            )
            if not marked:
                raise NotFound(conversation=conversation_id)
            await fetch(
                connection, "DELETE FROM runs WHERE conversation_id = ?", (conversation_id,)
            )

    async def deleted(self) -> list[str]:
        """Ids of the conversations that are marked and not purged."""
        rows = await self._database.read(
            "SELECT id FROM conversations WHERE deleted_at IS NOT NULL ORDER BY id"
        )
        return [row["id"] for row in rows]

    async def purge(self, conversation_id: str) -> None:
        """Remove the last row of a marked conversation, if it is marked, and every copy of the rest.

        The row goes last: if this process dies first, the next start finds it and goes on.
        """
        await self._database.rewrite()
        async with self._database.transaction() as connection:
            await fetch(
                connection,
                "DELETE FROM conversations WHERE id = ? AND deleted_at IS NOT NULL",
                (conversation_id,),
            )
        await self._database.cut_log()


def _conversation(row: sqlite3.Row) -> Conversation:
    return Conversation(
        id=row["id"],
        title=row["title"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        message_count=row["message_count"] if row["counted"] else None,
    )


def _summary(row: sqlite3.Row) -> ConversationSummary:
    return ConversationSummary(
        conversation=_conversation(row),
        status=RunStatus(row["status"]) if row["status"] else None,
        error_code=row["error_code"],
        error_message=row["error_message"],
    )


def _cursor(last: Conversation) -> str:
    return base64.urlsafe_b64encode((last.id + last.updated_at).encode()).decode()


def _position(cursor: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(cursor, altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError) as error:
        raise BadRequest(_WRONG_CURSOR) from error
    if len(text) <= _ID_LENGTH:
        raise BadRequest(_WRONG_CURSOR)
    return text[_ID_LENGTH:], text[:_ID_LENGTH]
