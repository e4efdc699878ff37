"""A real uvicorn on a free port, in front of a scripted runtime, for the length of a block."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import httpx

from sophos.events import Token, Trace, TraceEvent
from sophos.settings import Settings
from sophos.testing.runtime import ScriptedRuntime
from sophos.web.app import create_app
from sophos.web.listener import listen, port_of, url_of
from sophos.web.opened import Runtime
from sophos.web.server import Service

UNKNOWN = "00000000-0000-4000-8000-000000000000"


def say(text: str, *, message: str = "m1", step: int = 1, kind: Any = "answer") -> Token:
    return Token(text=text, kind=kind, step=step, message_id=message)


def trace(event: TraceEvent, *, name: str = "agent", step: int = 1, **details: Any) -> Trace:
    node = "tools" if event in {TraceEvent.CALL, TraceEvent.RESULT} else "agent"
    return Trace(step=step, node=node, event=event, event_name=name, details=details)


@dataclass(frozen=True, kw_only=True)
class Event:
    name: str
    data: Any
    id: str | None


async def _nothing_to_stop() -> None:
    """An application without a socket just goes."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """The server as a client sees it, and the runtime as a test drives it."""

    http: httpx.AsyncClient
    runtime: ScriptedRuntime
    port: int = 0
    stop: Callable[[], Awaitable[None]] = _nothing_to_stop

    async def start(self, message: str = "hello", **body: Any) -> dict[str, Any]:
        """Send a message; conversation and run of the answer."""
        answer = await self.http.post("/api/chat", json={"message": message, **body})
        assert answer.status_code == 202, answer.text
        started: dict[str, Any] = answer.json()
        return started

    async def events(self, conversation: str, **options: Any) -> list[Event]:
        """Every event of a stream, up to its end."""
        return [event async for event in self.follow(conversation, **options)]

    async def follow(
        self, conversation: str, *, last: str | None = None, **query: str
    ) -> AsyncIterator[Event]:
        headers = {} if last is None else {"Last-Event-ID": last}
        query = {"conversation": conversation, **query}
        async with self.http.stream("GET", "/api/chat", params=query, headers=headers) as answer:
            assert answer.status_code == 200, answer
            async for event in parse(answer.aiter_lines()):
                yield event

    async def raw(self, request: bytes) -> bytes:
        """Send bytes, and read until the server closes the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        return answer


async def parse(lines: AsyncIterator[str]) -> AsyncIterator[Event]:
    fields: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(": ")
            assert name not in fields, f"two lines of {name} in one event"
            fields[name] = value
        elif fields:
            yield Event(name=fields["event"], data=json.loads(fields["data"]), id=fields.get("id"))
            fields = {}


@asynccontextmanager
async def asked(runtime: ScriptedRuntime | None = None, **settings: Any) -> AsyncIterator[Site]:
    """The application without a socket: for what is not about streams or connections."""
    opening: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
    runtime = runtime or ScriptedRuntime()
    opening.set_result(runtime)
    app = create_app(Settings(**settings), "boot", opening)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:5173") as http:
        yield Site(http=http, runtime=runtime)


@asynccontextmanager
async def served(
    runtime: ScriptedRuntime | None = None, *, port: int = 0, **settings: Any
) -> AsyncIterator[Site]:
    runtime = runtime or ScriptedRuntime()

    async def opening(_: Settings, __: str) -> AbstractAsyncContextManager[Runtime]:
        return nullcontext(runtime)

    listener = listen("127.0.0.1", port)
    site_url, port = url_of(listener), port_of(listener)
    service = Service(Settings(**settings), listener, "boot")
    serving = asyncio.create_task(service.run(opening))

    async def stop() -> None:
        service.stop()
        await serving

    try:
        async with httpx.AsyncClient(base_url=site_url, trust_env=False) as http:
            yield Site(http=http, runtime=runtime, port=port, stop=stop)
    finally:
        await stop()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)
