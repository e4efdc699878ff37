"""Who opens what, in which order, and closes it in reverse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from sophos.conversation import Checkpoint, Conversation, ConversationSummary, Message
from sophos.events import Sent
from sophos.run import Run
from sophos.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Started:
    """The answer to a request that started a run, or to its repetition with the same key."""

    conversation: str
    run: str


@dataclass(frozen=True, kw_only=True)
class ConversationView:
    """A conversation as its record says now."""

    conversation: Conversation
    messages: Sequence[Message]
    resumable: bool
    active_run: str | None
    pending_decision: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Page:
    """Conversations, newest first; `next` goes into `before` for the following page."""

    conversations: Sequence[ConversationSummary]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """`checks` has a sentence for storage, model, tools and recovery."""

    ready: bool
    checks: dict[str, str]


class Runtime:
    """All that a browser may ask of the runtime. Errors are SophosErrors."""

    settings: Settings
    boot_id: str

    async def start_message(
        self, text: str, *, conversation: str | None, key: str | None
    ) -> Started:
        """Raises NotFound, SessionInProgress, RunWaiting, IdempotencyKeyReused, ShuttingDown."""
        raise NotImplementedError

    async def start_resume(self, *, conversation: str, key: str | None) -> Started:
        """As `start_message`, and RunNotResumable."""
        raise NotImplementedError

    async def cancel(self, run: str) -> Run:
        """Put the request on record, then stop the run. Raises NotFound, RunNotActive."""
        raise NotImplementedError

    async def subscribe(
        self, conversation: str, *, run: str | None, last_event_id: str | None
    ) -> AsyncIterator[Sent] | None:
        """Events for one viewer, ending with the run's end; None if it has had the last one (204).

        Raises NotFound before anything is sent.
        """
        raise NotImplementedError

    async def conversations(self, *, limit: int, before: str | None) -> Page:
        raise NotImplementedError

    async def conversation(self, conversation: str) -> ConversationView:
        raise NotImplementedError

    async def delete_conversation(self, conversation: str) -> None:
        raise NotImplementedError

    async def runs(self, conversation: str) -> Sequence[Run]:
        raise NotImplementedError

    async def run(self, run: str) -> Run:
        raise NotImplementedError

    async def checkpoints(self, conversation: str) -> AsyncIterator[Checkpoint]:
        """Oldest first. Raises NotFound before the first one."""
        raise NotImplementedError

    async def readiness(self) -> Readiness:
        raise NotImplementedError

    async def drain(self) -> None:
        """Refuse new runs, let the active ones reach a step boundary, end every stream."""
        raise NotImplementedError


@asynccontextmanager
async def open_runtime(settings: Settings) -> AsyncIterator[Runtime]:
    """Open storage, recover, and hand out the runtime; close everything in reverse."""
    raise NotImplementedError
    yield Runtime()
