"""A small HTTP/1.1 server for the lab's own processes. Standard library only.

It is here and not a framework for two reasons: a process that serves with it is up in a tenth of
a second, and a handler is cancelled the moment its client leaves, so that a lesson can see a
cancelled run reach the model.

    bytes ──► Connection ──► Request ──► handler(request, answer)
    bytes ◄── Connection ◄── Answer  ◄──────┘

One request at a time per connection; kept alive. Nothing here is durable.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from lab.http.request import BadRequest, Request, RequestReader

JSON: Final = "application/json; charset=utf-8"

logger = logging.getLogger(__name__)


class Answer:
    """What goes back: `send` for a whole answer, or `start`, `write` and `finish` for a stream."""

    def __init__(self, connection: Connection, method: str) -> None:
        self._connection = connection
        self._method = method
        self.started = False
        self.finished = False

    @property
    def client_gone(self) -> bool:
        return self._connection.lost

    async def send(self, status: int, body: bytes, content_type: str = JSON) -> None:
        self._head(status, f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n")
        if self._method != "HEAD":
            self._connection.write(body)
        self.finished = True
        await self._connection.drained()

    async def json(self, status: int, value: Any) -> None:
        await self.send(status, json.dumps(value, ensure_ascii=False).encode())

    def start(self, content_type: str) -> None:
        self._head(200, f"Content-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n")

    async def write(self, data: bytes) -> None:
        """Send one chunk now; waits while the client does not read."""
        self._connection.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._connection.drained()

    def finish(self) -> None:
        self._connection.write(b"0\r\n\r\n")
        self.finished = True

    def abort(self) -> None:
        """Drop the connection, as a server does that dies."""
        self._connection.abort()

    def _head(self, status: int, headers: str) -> None:
        self.started = True
        phrase = HTTPStatus(status).phrase
        self._connection.write(f"HTTP/1.1 {status} {phrase}\r\n{headers}\r\n".encode("latin-1"))


Handler = Callable[[Request, Answer], Awaitable[None]]


class Connection(asyncio.Protocol):
    """One client. Its handler runs in a task that is cancelled when the client leaves."""

    def __init__(self, handler: Handler, connections: set[Connection]) -> None:
        self._handler = handler
        self._connections = connections
        self._reader = RequestReader()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self.lost = False
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's signature
        self.lost = True
        self._writable.set()
        self._connections.discard(self)
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        if self.task is None:
            self._take_next()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self.lost:
            self._transport.write(data)

    async def drained(self) -> None:
        await self._writable.wait()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _take_next(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            request = self._reader.take()
        except BadRequest as error:
            self.task = loop.create_task(self._refuse(error))
            return
        if request is not None:
            self.task = loop.create_task(self._serve(request))
        elif self._reader.expects_continue:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def _refuse(self, error: BadRequest) -> None:
        await Answer(self, "GET").json(error.status, {"error": str(error)})
        self.close()

    async def _serve(self, request: Request) -> None:
        answer = Answer(self, request.method)
        try:
            await self._handler(request, answer)
        except BadRequest as error:
            await answer.json(error.status, {"error": str(error)})
        except Exception:  # the edge of a request: a fault in one answer must not end the server
            logger.exception("A handler failed.")
            if not answer.started:
                await answer.json(500, {"error": "This server has a fault. Read its log."})
        self.task = None
        if answer.finished and request.headers.get("connection", "").lower() != "close":
            self._take_next()
        else:
            self.close()


@asynccontextmanager
async def listening(handler: Handler, *, host: str, port: int) -> AsyncIterator[int]:
    """Serve until the block is left; gives the port, which the system picks for 0."""
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(handler, connections), host, port)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        tasks = [connection.task for connection in connections if connection.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(connections):
            connection.abort()
