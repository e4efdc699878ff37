"""Conversations as their record says: listing, reading, exporting, deleting."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from sophos.errors import ForbiddenOrigin, NotFound, RunWaiting, SessionInProgress
from sophos.web.export import jsonl_lines, markdown_parts
from sophos.web.inputs import Before, ExportFormat, Id, Limit, Rendering, Since
from sophos.web.opened import OpenedRuntime
from sophos.web.problems import Responses, described
from sophos.web.schemas import (
    CheckpointBody,
    CheckpointList,
    ConversationBody,
    ConversationDetail,
    ConversationList,
    ListedConversation,
    MessageBody,
    RunBody,
    RunList,
)

router = APIRouter(prefix="/api/conversations", tags=["conversations"])

EXPORTED: Responses = {
    HTTPStatus.OK.value: {
        "description": "A transcript for readers, or one line per checkpoint. Never read back.",
        "content": {
            "text/markdown": {"schema": {"type": "string"}},
            "application/jsonl": {"schema": {"type": "string"}},
        },
    }
}


@router.get("", responses=described())
async def listing(
    runtime: OpenedRuntime, limit: Limit = 50, before: Before = None
) -> ConversationList:
    """Newest first, with the status of the newest run."""
    page = await runtime.conversations(limit=limit, before=before)
    rows = [ListedConversation.listed(summary) for summary in page.conversations]
    return ConversationList(conversations=rows, next=page.next)


@router.get("/{conversation}", response_model_exclude_unset=True, responses=described(NotFound))
async def read(
    conversation: Id, request: Request, runtime: OpenedRuntime, render: Rendering = None
) -> ConversationDetail:
    """The messages of the newest checkpoint, and whether and why work is left."""
    view = await runtime.conversation(conversation)
    if render is None:
        messages = [MessageBody.of(message) for message in view.messages]
    else:
        # In a thread: rendering a long thread must not hold up anybody's stream.
        rendered = request.app.state.renderer.rendered
        htmls = await asyncio.to_thread(lambda: [rendered(message) for message in view.messages])
        pairs = zip(view.messages, htmls, strict=True)
        messages = [MessageBody.of(message, html=html) for message, html in pairs]
    return ConversationDetail(
        conversation=ConversationBody.of(view.conversation),
        messages=messages,
        resumable=view.resumable,
        next=list(view.next),
        owed=list(view.owed),
        active_run=view.active_run,
        pending_decision=view.pending_decision,
    )


@router.delete(
    "/{conversation}",
    status_code=HTTPStatus.NO_CONTENT,
    responses=described(ForbiddenOrigin, NotFound, SessionInProgress, RunWaiting),
)
async def delete(conversation: Id, runtime: OpenedRuntime) -> None:
    """Delete every row of every table for this id, for good."""
    await runtime.delete_conversation(conversation)


@router.get("/{conversation}/runs", responses=described(NotFound))
async def runs(conversation: Id, runtime: OpenedRuntime) -> RunList:
    """Every attempt, oldest first."""
    return RunList(runs=[RunBody.of(run) for run in await runtime.runs(conversation)])


@router.get("/{conversation}/checkpoints", responses=described(NotFound))
async def checkpoints(
    conversation: Id, runtime: OpenedRuntime, since: Since = None
) -> CheckpointList:
    """The state after every step, oldest first; with `since`, only from that checkpoint on."""
    found = [checkpoint async for checkpoint in await runtime.checkpoints(conversation)]
    ids = [checkpoint.checkpoint_id for checkpoint in found]
    first = ids.index(since) if since in ids else 0
    return CheckpointList(
        checkpoints=[CheckpointBody.of(checkpoint) for checkpoint in found[first:]]
    )


@router.get(
    "/{conversation}/export",
    response_class=Response,
    responses={**EXPORTED, **described(NotFound)},
)
async def export(
    conversation: Id,
    runtime: OpenedRuntime,
    format: ExportFormat = "markdown",  # noqa: A002 - as in the URL
) -> Response:
    """The conversation as a file. What is promised about it: it is a view, and never read back."""
    if format == "jsonl":
        # All of it before any status is sent: a step that cannot be read must not look like the end.
        lines = [line async for line in jsonl_lines(await runtime.checkpoints(conversation))]
        return Response("".join(lines), media_type="application/jsonl")
    parts = markdown_parts(await runtime.conversation(conversation))
    return StreamingResponse(parts, media_type="text/markdown")
