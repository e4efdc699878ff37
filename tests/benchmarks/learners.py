"""A class: learners who each sign in, ask for a task, reload, lose the connection and come back.

Each is a browser of its own against one real server: a cookie, a stream, Last-Event-ID. What a
learner saw is kept here, for a test to compare with the record and for a measure to read times.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from lab.sse import Parser, ServerSentEvent

GIVE_UP: Final = 100.0  # seconds without a byte; only a fault is that long


@dataclass(kw_only=True)
class Learner:
    """`ids` are those of the events seen, in the order in which they came, over all connections."""

    number: int
    http: httpx.AsyncClient
    started: dict[str, str] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    last: str = ""
    first_token: float = 0.0  # seconds from sending the message
    _sent: float = 0.0

    @property
    def task(self) -> str:
        """What this learner asks for, and nobody else."""
        return f"Water plant {self.number}"

    async def sign_in(self, token: str) -> None:
        answer = await self.http.post("/sign-in", data={"token": token})
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text

    async def send(self) -> None:
        """A new conversation."""
        self._sent = time.perf_counter()
        body = {"message": f'Create a task "{self.task}"'}
        key = {"Idempotency-Key": f"learner-{self.number}"}
        answer = await self.http.post("/api/chat", json=body, headers=key)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        self.started = answer.json()

    async def resume(self) -> None:
        """Go on with unfinished work; what was seen of the run before is let go."""
        body = {"resume": True, "conversation": self.started["conversation"]}
        answer = await self.http.post("/api/chat", json=body)
        assert answer.status_code == httpx.codes.ACCEPTED, answer.text
        self.started, self.ids = answer.json(), []

    async def watch(self, enough: Callable[[ServerSentEvent], bool]) -> None:
        """Watch from where the last connection broke, until it is enough or the stream ends."""
        headers = {"Last-Event-ID": self.ids[-1]} if self.ids else {}
        request = self.http.stream("GET", "/api/chat", params=self.started, headers=headers)
        async with request as answer:
            assert answer.status_code == httpx.codes.OK, answer
            async with aclosing(_events(answer)) as events:
                async for event in events:
                    self._see(event)
                    if enough(event):
                        return

    async def reload(self) -> dict[str, Any]:
        """The conversation as it is on record."""
        answer = await self.http.get(f"/api/conversations/{self.started['conversation']}")
        record: dict[str, Any] = answer.json()
        return record

    def _see(self, event: ServerSentEvent) -> None:
        if event.name == "token" and not self.first_token:
            self.first_token = time.perf_counter() - self._sent
        if event.id is not None:
            self.ids.append(event.id)
        if event.name != "ping":
            self.last = event.name


async def _events(answer: httpx.Response) -> AsyncGenerator[ServerSentEvent]:
    parser = Parser()
    async for piece in answer.aiter_bytes():
        for event in parser.feed(piece):
            yield event


def browser(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, trust_env=False, timeout=GIVE_UP)


def is_token(event: ServerSentEvent) -> bool:
    return event.name == "token"


def never(_: ServerSentEvent) -> bool:
    return False


async def all_of(learners: list[Learner], act: Callable[[Learner], Any]) -> None:
    """Every learner does it, at the same time."""
    async with asyncio.TaskGroup() as group:
        for learner in learners:
            group.create_task(act(learner))
