"""Starting a run, and watching one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from sophos.errors import (
    ForbiddenOrigin,
    IdempotencyKeyReused,
    MessageTooLarge,
    NotFound,
    RunNotResumable,
    RunWaiting,
    SessionInProgress,
    ShuttingDown,
    UnsupportedMediaType,
)
from sophos.web.inputs import ChatRequest, Id, IdempotencyKey, ResumeRequest
from sophos.web.opened import OpenedRuntime
from sophos.web.problems import Responses, described
from sophos.web.schemas import Accepted
from sophos.web.sse import EventStream

router = APIRouter(prefix="/api/chat", tags=["chat"])

START_ERRORS = (
    ForbiddenOrigin,
    NotFound,
    SessionInProgress,
    RunWaiting,
    RunNotResumable,
    MessageTooLarge,
    UnsupportedMediaType,
    IdempotencyKeyReused,
    ShuttingDown,
)


STARTED: Responses = {
    HTTPStatus.ACCEPTED.value: {
        "description": "The run is on record and goes on by itself.",
        "headers": {"Location": {"description": "The run.", "schema": {"type": "string"}}},
    }
}


@router.post("", status_code=HTTPStatus.ACCEPTED, responses={**STARTED, **described(*START_ERRORS)})
async def start(
    body: ChatRequest,
    request: Request,
    runtime: OpenedRuntime,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Accepted:
    """Start a run: with a message, or to go on with unfinished work."""
    if isinstance(body, ResumeRequest):
        started = await runtime.start_resume(conversation=body.conversation, key=idempotency_key)
    else:
        started = await runtime.start_message(
            body.message, conversation=body.conversation, key=idempotency_key
        )
    response.headers["Location"] = f"{request.app.state.root_path}/api/runs/{started.run}"
    return Accepted(conversation=started.conversation, run=started.run)


STREAM: Responses = {
    HTTPStatus.OK.value: {
        "description": "Events: token, trace, end, chat-error, gap, ping.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    HTTPStatus.NO_CONTENT.value: {"description": "You have had the last event. Stop coming back."},
}


@router.get("", response_class=Response, responses={**STREAM, **described(NotFound)})
async def watch(
    runtime: OpenedRuntime,
    conversation: Annotated[Id, Query()],
    run: Annotated[Id | None, Query()] = None,
    last_event_id: Annotated[
        str | None, Query(description="For clients that cannot set Last-Event-ID.")
    ] = None,
    last_event_id_header: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Watch a run: what it said so far, or what came after the event you name, then what comes."""
    # A browser that reconnects repeats the address and sets the header: the header is newer.
    last = last_event_id if last_event_id_header is None else last_event_id_header
    events = await runtime.subscribe(conversation, run=run, last_event_id=last)
    if events is None:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return EventStream(events)
