"""A bell that rings at every change, so that whoever waits for a fact looks again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Bell:
    def __init__(self) -> None:
        self._next_ring = asyncio.Event()

    def ring(self) -> None:
        self._next_ring.set()
        self._next_ring = asyncio.Event()

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._next_ring.wait()
