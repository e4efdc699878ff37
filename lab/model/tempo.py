"""How fast tokens go out, and the gate that can stop them at an exact one.

Nothing here is durable: a new process has the pace of its command line and an open gate.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Final

from lab.model.bell import Bell

FASTEST: Final = 1_000_000  # tokens per second; more is the same as no delay
MOST_BEHIND: Final = 0.25  # seconds that a late token may be made up for by the ones after it


def rate(text: str) -> float:
    """Tokens per second, as an option of a command line."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= FASTEST:
        raise argparse.ArgumentTypeError(f"{text!r}: write a number from 0 to {FASTEST:,}")
    return found


class Tempo:
    """Shared by all replies. `tokens_per_second` 0 means without delay."""

    def __init__(self, tokens_per_second: float) -> None:
        self.started_with = tokens_per_second
        self.tokens_per_second = tokens_per_second
        self.held = 0
        self.changed = Bell()
        self._closed_after: int | None = None

    def hold(self, after_tokens: int) -> None:
        """Stop every reply that has sent this many tokens, until `release`.

        A reply held by an earlier `hold` goes on, and stops again if it has that many to go.
        """
        self._closed_after = after_tokens
        self.changed.ring()

    def release(self) -> None:
        self._closed_after = None
        self.changed.ring()

    async def pass_gate(self, sent: int) -> bool:
        """Wait while replies are held at this token; tells whether this one was."""
        if self._closed_after != sent:
            return False
        self.held += 1
        self.changed.ring()
        try:
            await self.changed.until(lambda: self._closed_after != sent)
        finally:
            self.held -= 1
            self.changed.ring()
        return True


class Beat:
    """The pace of one reply: against a clock of its own, so that small delays do not add up."""

    def __init__(self, tempo: Tempo) -> None:
        self._tempo = tempo
        self._due = time.perf_counter()

    async def before_token(self, sent: int) -> None:
        """Wait until the next token is due and the gate is open."""
        delay = self._due - time.perf_counter()
        # With no delay this lets the other replies, and a client that left, have their turn.
        await asyncio.sleep(max(delay, 0))
        if await self._tempo.pass_gate(sent):
            self._due = time.perf_counter()
        rate = self._tempo.tokens_per_second
        self._due = max(self._due, time.perf_counter() - MOST_BEHIND) + (1 / rate if rate else 0)
