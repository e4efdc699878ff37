"""Conversations and messages as plain values. No LangChain type crosses into this module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from sophos.run import RunStatus

MESSAGE_LIMIT: Final = 100_000  # characters
TITLE_LIMIT: Final = 50  # characters, the dots not counted


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """One row of `conversations`.

    `message_count` is None while a run is at work, and until what a dead process left is counted.
    """

    id: str
    title: str
    created_at: str
    updated_at: str
    message_count: int | None


@dataclass(frozen=True, kw_only=True)
class ConversationSummary:
    """A conversation with the status and the error of its newest run, for a list."""

    conversation: Conversation
    status: RunStatus | None
    error_code: str | None
    error_message: str | None


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """What the model asked for. `name` is `server__tool`; `args` is JSON."""

    id: str
    name: str
    args: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of the record. `run` is the run that wrote it, where that is known."""

    id: str
    role: Literal["user", "assistant", "tool"]
    content: str
    run: str | None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    name: str | None = None
    tool_call_id: str | None = None
    status: Literal["success", "error"] | None = None


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """One checkpoint of a thread. `step` is −1 for the first input; `next` names the pending nodes."""

    checkpoint_id: str
    parent_id: str | None
    step: int
    source: str
    next: tuple[str, ...]
    run: str | None
    message_count: int
    created_at: str
    last_message: Message | None


def title_of(text: str) -> str:
    """The first line that is not blank, cut to 50 characters with `...`."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), text.strip())
    return line if len(line) <= TITLE_LIMIT else line[:TITLE_LIMIT].rstrip() + "..."
