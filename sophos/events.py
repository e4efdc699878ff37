"""What a run says while it works. Events are transport, never the record.

An event has a `name`, its `data` as JSON, and, where the log gave it one, a number `n`: its id on
the wire is `<run>:<n>`, n = 1, 2, 3 … without holes within one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from sophos.run import RunStatus


class TraceEvent(StrEnum):
    ENTER = "enter"
    """A node starts. Published when it starts."""
    LEAVE = "leave"
    """A step is over. Published after its checkpoint is on disk."""
    CALL = "call"
    """The model asked for a tool. `data` has id, name and args."""
    RESULT = "result"
    """A tool call ended. Published after its result is on disk; `data` has id, status and text."""
    RESUME = "resume"
    """A resume starts: whatever was streamed for this step before is superseded."""
    NOTE = "note"
    """Something a viewer should know. `data` has text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """A piece of the model's reply, in the order it came."""

    text: str
    kind: Literal["answer", "reasoning"]
    step: int
    message_id: str

    name = "token"

    def data(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "kind": self.kind,
            "step": self.step,
            "message_id": self.message_id,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """What the graph does. `event_name` is the tool's name for `call` and `result`, else the node's."""

    step: int
    node: str
    event: TraceEvent
    event_name: str
    details: Mapping[str, Any]

    name = "trace"

    def data(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "node": self.node,
            "name": self.event_name,
            "event": self.event.value,
            "data": dict(self.details),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """The run's outcome is on record: completed, waiting, cancelled or interrupted."""

    conversation: str
    run: str
    status: RunStatus

    name = "end"

    def data(self) -> dict[str, Any]:
        return {"conversation": self.conversation, "run": self.run, "status": self.status.value}


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatError:
    """The run is on record as failed."""

    conversation: str
    run: str
    code: str
    message: str

    name = "chat-error"

    def data(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": self.message,
            "conversation": self.conversation,
            "run": self.run,
        }


@dataclass(frozen=True, slots=True)
class Gap:
    """Something asked for can no longer be replayed: read the record."""

    name = "gap"

    def data(self) -> dict[str, Any]:
        return {"reload": True}


RunEvent = Token | Trace | End | ChatError
Event = RunEvent | Gap


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """An event on its way to one viewer; `id` is `<run>:<n>` or None where it has none."""

    event: Event
    id: str | None
