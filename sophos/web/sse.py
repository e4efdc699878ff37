"""Events → text/event-stream, for one viewer.

Nothing here is durable and nothing here touches the run: when the viewer leaves, or when the
events end, the subscription is closed and that is all.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Final

from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.types import Send

from sophos.events import Sent

PING_SECONDS: Final = 15.0  # of silence before a ping
BACKLOG: Final = 512  # events on their way to one viewer; they leave in one piece


class EventStream(EventSourceResponse):
    """The answer to one viewer: headers at once, events as they come, pings in silence.

    Events that are ready together are sent together, so a replay is a few writes and not
    thousands.
    """

    def __init__(self, events: AsyncIterator[Sent], *, ping_seconds: float = PING_SECONDS) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        self._frames = _frames(events)
        super().__init__(content=self._frames, headers=headers)
        self._ping_seconds = ping_seconds
        self._backlog: asyncio.Queue[bytes | None] = asyncio.Queue(BACKLOG)

    async def stream_response(self, send: Send) -> None:
        """Called by Starlette, which cancels it when the viewer leaves."""
        headers = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **headers})
        # Two tasks that live and end inside this answer: a ping must not disturb a pending
        # `anext`, and a cancelled `anext` would end the subscription.
        async with asyncio.TaskGroup() as group:
            group.create_task(self._collect())
            await self._forward(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _collect(self) -> None:
        async with aclosing(self._frames) as frames:
            async for piece in frames:
                await self._backlog.put(piece)
        await self._backlog.put(None)

    async def _forward(self, send: Send) -> None:
        ended = False
        while not ended:
            try:
                async with asyncio.timeout(self._ping_seconds):
                    waiting = [await self._backlog.get()]
            except TimeoutError:
                waiting = [PING]
            while not self._backlog.empty():
                waiting.append(self._backlog.get_nowait())
            ended = waiting[-1] is None
            if chunk := b"".join(piece for piece in waiting if piece is not None):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})


def frame(sent: Sent) -> bytes:
    """One event as it goes over the wire: its data on one line, ASCII alone."""
    return format_sse_event(event=sent.event.name, data_str=_line(sent.event.data()), id=sent.id)


def _line(data: dict[str, Any]) -> str:
    try:
        return json.dumps(data, allow_nan=False)
    except ValueError:
        # A model or a tool said NaN, for which JSON has no word.
        return json.dumps(json.loads(json.dumps(data), parse_constant=lambda _: None))


async def _frames(events: AsyncIterator[Sent]) -> AsyncGenerator[bytes]:
    try:
        async for sent in events:
            yield frame(sent)
    finally:
        # Closing the subscription is what a viewer's leaving comes down to.
        if close := getattr(events, "aclose", None):
            await close()


PING: Final = format_sse_event(event="ping", data_str="{}")
