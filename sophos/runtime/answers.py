"""What the runtime answers with, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sophos.conversation import Conversation, ConversationSummary, Message


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
    next: Sequence[str]
    """The nodes pending on the newest checkpoint."""
    owed: Sequence[str]
    """The runs whose message was accepted and has not reached its thread, oldest first."""
    active_run: str | None
    pending_decision: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Page:
    """Conversations, newest first; `next` goes into `before` for the following page."""

    conversations: Sequence[ConversationSummary]
    next: str | None


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """`checks` has a sentence for storage, model, tools, recovery and protections."""

    ready: bool
    checks: dict[str, str]
