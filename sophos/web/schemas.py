"""What an answer holds, as the wire contract names it. What a request may hold is in `inputs`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from sophos.conversation import Checkpoint, Conversation, ConversationSummary
from sophos.conversation import Message as RecordedMessage
from sophos.run import Run as RecordedRun
from sophos.run import RunKind, RunStatus


class ErrorDetail(BaseModel):
    code: str
    message: str
    conversation: str | None = None
    run: str | None = None


class ErrorBody(BaseModel):
    """What went wrong and what to do about it."""

    error: ErrorDetail


class Outcome(BaseModel):
    """Why a run failed."""

    code: str
    message: str


class Accepted(BaseModel):
    conversation: str
    run: str


class ConversationBody(BaseModel):
    id: str
    title: str
    created_at: str
    updated_at: str
    message_count: int | None

    @classmethod
    def of(cls, conversation: Conversation) -> ConversationBody:
        return cls.model_validate(conversation, from_attributes=True)


class ListedConversation(ConversationBody):
    """`status` and `error` are those of the newest run."""

    status: RunStatus | None
    error: Outcome | None

    @classmethod
    def listed(cls, summary: ConversationSummary) -> ListedConversation:
        return cls(
            **ConversationBody.of(summary.conversation).model_dump(),
            status=summary.status,
            error=outcome(summary.error_code, summary.error_message),
        )


class ConversationList(BaseModel):
    """Newest first; `next` goes into `before` for the following page."""

    conversations: list[ListedConversation]
    next: str | None


class ToolCallBody(BaseModel):
    id: str
    name: str
    args: dict[str, Any]


class MessageBody(BaseModel):
    """One message of the record. A field that does not apply is left out."""

    id: str
    role: Literal["user", "assistant", "tool"]
    content: str
    run: str | None
    reasoning: str = ""
    tool_calls: list[ToolCallBody] = []
    name: str = ""
    tool_call_id: str = ""
    status: Literal["success", "error"] = "success"
    html: str = ""

    @classmethod
    def of(cls, message: RecordedMessage, *, html: str | None = None) -> MessageBody:
        optional: dict[str, Any] = {
            "reasoning": message.reasoning,
            "tool_calls": [
                ToolCallBody(id=call.id, name=call.name, args=call.args)
                for call in message.tool_calls
            ],
            "name": message.name,
            "tool_call_id": message.tool_call_id,
            "status": message.status,
            "html": html,
        }
        return cls(
            id=message.id,
            role=message.role,
            content=message.content,
            run=message.run,
            **{name: value for name, value in optional.items() if value not in (None, [])},
        )


class ConversationDetail(BaseModel):
    """`next` and `owed` say why it is resumable, once no run is active.

    The nodes pending on the newest checkpoint; the runs whose message has not reached its thread.
    """

    conversation: ConversationBody
    messages: list[MessageBody]
    resumable: bool
    next: list[str]
    owed: list[str]
    active_run: str | None
    pending_decision: dict[str, Any] | None


class RunBody(BaseModel):
    """One attempt. `owner` is the boot id of the process that executes or executed it."""

    id: str
    conversation: str
    kind: RunKind
    input: str | None
    resume_of: str | None
    status: RunStatus
    error: Outcome | None
    cancel_requested_at: str | None
    owner: str
    attempt: int
    started_at: str
    finished_at: str | None

    @classmethod
    def of(cls, run: RecordedRun) -> RunBody:
        return cls(
            id=run.id,
            conversation=run.conversation_id,
            kind=run.kind,
            input=run.input,
            resume_of=run.resume_of,
            status=run.status,
            error=outcome(run.error_code, run.error_message),
            cancel_requested_at=run.cancel_requested_at,
            owner=run.owner,
            attempt=run.attempt,
            started_at=run.started_at,
            finished_at=run.finished_at,
        )


class RunList(BaseModel):
    runs: list[RunBody]


class CheckpointBody(BaseModel):
    checkpoint_id: str
    parent_id: str | None
    step: int
    source: str
    next: list[str]
    run: str | None
    message_count: int
    created_at: str

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> CheckpointBody:
        return cls.model_validate(checkpoint, from_attributes=True)


class CheckpointList(BaseModel):
    checkpoints: list[CheckpointBody]


class Health(BaseModel):
    status: Literal["ok"]
    boot_id: str
    pid: int


class Readiness(BaseModel):
    """`checks` has a sentence for storage, model, tools, recovery and protections."""

    status: Literal["ready", "unready"]
    checks: dict[str, str]


def outcome(code: str | None, message: str | None) -> Outcome | None:
    return None if code is None else Outcome(code=code, message=message or "")
