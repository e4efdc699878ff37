"""What one run said, in order: replay after a number, then follow. Dies with the process by design.

A viewer is a place in the list and nothing more, so a slow one costs the run and other viewers
nothing. The stream is transport: the record is the checkpoints.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from sophos.events import ChatError, End, Gap, RunEvent, Sent

BACKLOG: Final = 20_000  # events a viewer may fall behind while it watches


class EventLog:
    """The events of one run, numbered 1, 2, 3 …; the last is its end."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._events: list[RunEvent] = []
        self._more = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return len(self._events)

    def publish(self, event: RunEvent) -> None:
        """Append, and wake whoever follows. Never waits."""
        self._events.append(event)
        self._wake()

    def close(self) -> None:
        """No more will come, even if the end was never published: let every viewer go."""
        self._closed = True
        self._wake()

    async def follow(self, after: int) -> AsyncIterator[Sent]:
        """Events `after` + 1, `after` + 2, …, then live ones, up to the run's end.

        A viewer that falls too far behind gets a Gap, and no more.
        """
        place = after
        allowed = len(self._events) - after + BACKLOG
        while True:
            more = self._more
            while place < len(self._events):
                if len(self._events) - place > allowed:
                    yield Sent(event=Gap(), id=None)
                    return
                event = self._events[place]
                place += 1
                yield Sent(event=event, id=f"{self._run}:{place}")
                if isinstance(event, End | ChatError):
                    return
            if self._closed or (self._events and isinstance(self._events[-1], End | ChatError)):
                return
            allowed = BACKLOG
            await more.wait()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()
