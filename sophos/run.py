"""A run: one attempt to move a conversation forward, with its own identity and outcome.

    running ──► completed | failed | cancelled | interrupted | waiting
    waiting ──► completed | cancelled

Whether work is left is never read from the status: see `work_left` in runtime/recovery.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class RunStatus(StrEnum):
    RUNNING = "running"
    """A process is executing it now."""
    WAITING = "waiting"
    """Stopped before a tool call that needs a person's decision."""
    COMPLETED = "completed"
    """The graph reached its end, or the pending decision was taken."""
    FAILED = "failed"
    """A node, the model, a tool server or storage raised."""
    CANCELLED = "cancelled"
    """A person stopped it."""
    INTERRUPTED = "interrupted"
    """The process stopped or died before the end."""


ACTIVE: Final = frozenset({RunStatus.RUNNING, RunStatus.WAITING})

TRANSITIONS: Final = {
    RunStatus.RUNNING: frozenset(RunStatus) - {RunStatus.RUNNING},
    RunStatus.WAITING: frozenset({RunStatus.COMPLETED, RunStatus.CANCELLED}),
    RunStatus.COMPLETED: frozenset[RunStatus](),
    RunStatus.FAILED: frozenset[RunStatus](),
    RunStatus.CANCELLED: frozenset[RunStatus](),
    RunStatus.INTERRUPTED: frozenset[RunStatus](),
}
"""From each status, the statuses it may become. Nothing leaves a final state."""


class RunKind(StrEnum):
    MESSAGE = "message"
    """Started by a person's message; `input` is that text."""
    RESUME = "resume"
    """Continues unfinished work; `input` is None and `resume_of` names the run it continues."""
    DECISION = "decision"
    """Carries a person's decision on a tool call; `input` is the decision as JSON."""


@dataclass(frozen=True, kw_only=True)
class RunInput:
    """What a run is started with: a message, a resume or a decision."""

    kind: RunKind
    text: str | None = None
    resume_of: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """One row of `runs`. Ids are UUIDs, times are ISO-8601 UTC with milliseconds."""

    id: str
    conversation_id: str
    kind: RunKind
    input: str | None
    resume_of: str | None
    status: RunStatus
    error_code: str | None
    error_message: str | None
    cancel_requested_at: str | None
    idempotency_key: str | None
    owner: str
    attempt: int
    started_at: str
    finished_at: str | None
