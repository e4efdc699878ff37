"""One scripted conversation: its record, its runs, and the run that is not over.

Nothing is durable: it dies with the process.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from sophos.conversation import (
    Checkpoint,
    Conversation,
    ConversationSummary,
    Message,
    ToolCall,
    title_of,
)
from sophos.errors import RunFailure
from sophos.events import ChatError, End, RunEvent, Sent, Token, Trace, TraceEvent
from sophos.run import ACTIVE, Run, RunKind, RunStatus


class Pause(Enum):
    HOLD = "hold"
    """The run stands still until a test lets it proceed."""
    DECISION = "decision"
    """The run waits for a person's decision."""


HOLD: Final = Pause.HOLD
DECISION: Final = Pause.DECISION
Line = Token | Trace | RunFailure | Pause
Script = Sequence[Line]
"""What a run says. It ends as completed, or as failed where a RunFailure stands."""


@dataclass(kw_only=True)
class LiveRun:
    """A run that is not over: what it has sent, and what it will say."""

    id: str
    rest: Iterator[Line]
    step: list[Token | Trace] = field(default_factory=list)  # said, not in the record yet
    sent: list[Sent] = field(default_factory=list)
    over: bool = False

    def send(self, event: RunEvent) -> None:
        self.sent.append(Sent(event=event, id=f"{self.id}:{len(self.sent) + 1}"))


class ScriptedThread:
    def __init__(self, text: str, now: str) -> None:
        self.conversation = Conversation(
            id=str(uuid.uuid4()),
            title=title_of(text),
            created_at=now,
            updated_at=now,
            message_count=None,
        )
        self.messages: list[Message] = []
        self.runs: list[Run] = []
        self.live: LiveRun | None = None

    def begin(self, kind: RunKind, text: str | None, script: Script, owner: str, now: str) -> Run:
        run = Run(
            id=str(uuid.uuid4()),
            conversation_id=self.conversation.id,
            kind=kind,
            input=text,
            resume_of=self.runs[-1].id if kind is RunKind.RESUME else None,
            status=RunStatus.RUNNING,
            error_code=None,
            error_message=None,
            cancel_requested_at=None,
            idempotency_key=None,
            owner=owner,
            attempt=1,
            started_at=now,
            finished_at=None,
        )
        if text is not None:
            self.messages.append(Message(id=run.id, role="user", content=text, run=run.id))
        self.runs.append(run)
        self.conversation = replace(self.conversation, updated_at=now, message_count=None)
        self.live = LiveRun(id=run.id, rest=iter(script))
        return run

    def proceed(self, now: str) -> None:
        """Play the script up to the next HOLD, or to its end."""
        assert self.live is not None, "no run is active"
        for line in self.live.rest:
            if line is HOLD:
                return
            if line is DECISION:
                self.finish(RunStatus.WAITING, now)
                return
            if isinstance(line, RunFailure):
                self.finish(RunStatus.FAILED, now, line)
                return
            assert isinstance(line, Token | Trace)
            self.live.send(line)
            self._record(self.live, line)
        self._commit(self.live)
        self.finish(RunStatus.COMPLETED, now)

    def finish(self, status: RunStatus, now: str, error: RunFailure | None = None) -> None:
        """Record first, then announce."""
        assert self.live is not None, "no run is active"
        self.runs[-1] = replace(
            self.runs[-1],
            status=status,
            error_code=error.code if error else None,
            error_message=error.message if error else None,
            finished_at=now,
        )
        self.conversation = replace(self.conversation, message_count=len(self.messages))
        live, self.live = self.live, None
        live.over = True
        live.send(outcome_of(self.runs[-1]))

    @property
    def active(self) -> Run | None:
        """The run that is not over: working, or waiting for a decision."""
        return self.runs[-1] if self.runs and self.runs[-1].status in ACTIVE else None

    @property
    def owed(self) -> Sequence[str]:
        """The runs whose message is not in the record; a script never leaves one out, a test may."""
        brought = {message.run for message in self.messages if message.role == "user"}
        return [run.id for run in self.runs if run.input is not None and run.id not in brought]

    def summary(self) -> ConversationSummary:
        run = self.runs[-1]
        return ConversationSummary(
            conversation=self.conversation,
            status=run.status,
            error_code=run.error_code,
            error_message=run.error_message,
        )

    async def checkpoints(self) -> AsyncIterator[Checkpoint]:
        """One per message: as many as a test needs, and none of LangGraph's."""
        for step, message in enumerate(self.messages):
            last = step == len(self.messages) - 1
            yield Checkpoint(
                checkpoint_id=f"checkpoint-{step}",
                parent_id=f"checkpoint-{step - 1}" if step else None,
                step=step,
                source="loop",
                next=() if last and self.live is None else ("agent",),
                run=message.run,
                message_count=step + 1,
                created_at=self.conversation.created_at,
                last_message=message,
            )

    def _record(self, live: LiveRun, line: Token | Trace) -> None:
        live.step.append(line)
        if isinstance(line, Trace) and line.event is TraceEvent.LEAVE:
            self._commit(live)
        if isinstance(line, Trace) and line.event is TraceEvent.RESULT:
            self.messages.append(_tool_message(live.id, line))

    def _commit(self, live: LiveRun) -> None:
        message = _answer(live)
        if message.content or message.tool_calls:
            self.messages.append(message)
        live.step.clear()


def outcome_of(run: Run) -> End | ChatError:
    """What a late viewer is told, from the run's row alone."""
    if run.error_code is None:
        return End(conversation=run.conversation_id, run=run.id, status=run.status)
    return ChatError(
        conversation=run.conversation_id,
        run=run.id,
        code=run.error_code,
        message=run.error_message or "",
    )


def _answer(live: LiveRun) -> Message:
    tokens = [line for line in live.step if isinstance(line, Token)]
    calls = [
        ToolCall(id=line.details["id"], name=line.event_name, args=line.details["args"])
        for line in live.step
        if isinstance(line, Trace) and line.event is TraceEvent.CALL
    ]
    return Message(
        id=tokens[-1].message_id if tokens else str(uuid.uuid4()),
        role="assistant",
        content="".join(token.text for token in tokens if token.kind == "answer"),
        reasoning="".join(token.text for token in tokens if token.kind == "reasoning") or None,
        run=live.id,
        tool_calls=tuple(calls),
    )


def _tool_message(run: str, result: Trace) -> Message:
    text = result.details["text"]
    return Message(
        id=str(uuid.uuid4()),
        role="tool",
        content=text if isinstance(text, str) else json.dumps(text),
        run=run,
        name=result.event_name,
        tool_call_id=result.details["id"],
        status=result.details["status"],
    )
