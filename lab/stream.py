"""A run's event stream as one viewer receives it: transport, never the record.

Holds what has arrived and was not read yet. It dies with the connection.
"""

from __future__ import annotations

import json
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

from lab.sse import Parser


@dataclass(frozen=True, kw_only=True)
class StreamEvent:
    """One event as it came. `id` is `<run>:<n>`, or None for an event that has none."""

    name: str
    data: dict[str, Any]
    id: str | None
    at: float | None = field(default=None, compare=False)
    """When it came, in seconds since the epoch; None for one that came from nowhere."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """What a stream told: the messages of its steps, with an empty line between two."""

    answer: str
    reasoning: str


class EventStream:
    """The events of a run, one after the other, until its end or until the connection is lost."""

    def __init__(
        self,
        connect: Callable[[str | None], httpx.Response],
        last_event_id: str | None,
        remember: Callable[[StreamEvent], None],
    ) -> None:
        self.last_event_id = last_event_id
        self.outcome: str | None = None
        """The run's status, if the stream told it."""
        self.closed_by: str | None = None
        """None while open, then "end", "nothing more" (204), "lost", "silence" or "dropped"."""
        self._connect = connect
        self._remember = remember
        self._open()

    def __iter__(self) -> Iterator[StreamEvent]:
        return (event for event in self.received() if event.name != "ping")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def drop(self) -> None:
        """Lose the connection, as a network would. The run does not notice."""
        self._ready.clear()
        self._close("dropped")

    def reconnect(self) -> None:
        """Come back with the id of the last event received, as a browser does."""
        self.drop()
        self._open()

    def received(self) -> Iterator[StreamEvent]:
        """As iterating, with the pings."""
        while (event := self._next()) is not None:
            yield event

    def _open(self) -> None:
        self._response = self._connect(self.last_event_id)
        weakref.finalize(self, self._response.close)
        self._parser, self._ready = Parser(), deque[StreamEvent]()
        self.closed_by, self._bytes = None, self._response.iter_raw()
        if self._response.status_code == httpx.codes.NO_CONTENT:
            self._close("nothing more")

    def _next(self) -> StreamEvent | None:
        while not self._ready:
            if self.closed_by is not None:
                return None
            try:
                chunk = next(self._bytes, None)
            except httpx.TimeoutException:
                self._close("silence")
            except (httpx.HTTPError, httpx.StreamError):
                self._close("lost")
            else:
                self._take(chunk)
        event = self._ready.popleft()
        self.last_event_id = event.id or self.last_event_id
        self._remember(event)
        if event.name in {"end", "chat-error"}:
            self.outcome = event.data.get("status", "failed")
            self._close("end")
        return event

    def _take(self, chunk: bytes | None) -> None:
        if chunk is None:
            self._close("lost")
        for event in self._parser.feed(chunk or b""):
            data = json.loads(event.data)
            came = StreamEvent(name=event.name, data=data, id=event.id, at=time.time())
            self._ready.append(came)

    def _close(self, why: str) -> None:
        self.closed_by = self.closed_by or why
        self._response.close()


def text(events: Iterable[StreamEvent]) -> Text:
    """Fold tokens into what a viewer reads; what a resume has superseded is not told twice."""
    pieces = told(events)
    return Text(answer=_joined(pieces, "answer"), reasoning=_joined(pieces, "reasoning"))


def told(events: Iterable[StreamEvent]) -> list[dict[str, Any]]:
    """The data of the tokens that are still on a viewer's screen: none that a resume superseded."""
    pieces: list[dict[str, Any]] = []
    for event in events:
        if event.name == "token":
            pieces.append(event.data)
        elif event.name == "trace" and event.data["event"] == "resume":
            pieces = [piece for piece in pieces if piece["step"] < event.data["step"]]
    return pieces


def _joined(pieces: Iterable[Mapping[str, Any]], kind: str) -> str:
    messages: dict[str, str] = {}
    for piece in pieces:
        if piece["kind"] == kind:
            messages[piece["message_id"]] = messages.get(piece["message_id"], "") + piece["text"]
    return "\n\n".join(messages.values())
