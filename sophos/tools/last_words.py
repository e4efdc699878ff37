"""What a child says on its standard error: read at once, kept short, shown only when it ends badly.

A pipe nobody reads fills up and stops the child; one that goes to our own standard error mixes
foreign lines into our log. All of this dies with the process.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TextIO

import anyio

logger = logging.getLogger(__name__)

KEPT: Final = 2_000  # bytes
PIECE: Final = 65_536  # bytes


class LastWords:
    """The end of what one child said. DEBUG shows all of it, as it comes."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._kept = b""

    def __str__(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[TextIO]:
        """A file for the child to write to, read until the block is left."""
        if sys.platform == "win32":  # No event loop there can wait for a pipe like this one.
            with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123, ASYNC230 - it never blocks
                yield nowhere
            return
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        try:
            with os.fdopen(writing, "w", encoding="utf-8") as said:
                async with anyio.create_task_group() as listening:
                    listening.start_soon(self._read, reading)
                    yield said
                    listening.cancel_scope.cancel()
            self._take(reading)
        finally:
            os.close(reading)

    async def _read(self, reading: int) -> None:
        while True:
            await anyio.wait_readable(reading)
            if not self._take(reading):
                return

    def _take(self, reading: int) -> bool:
        """Read what is there; False once there is nothing more to come."""
        try:
            piece = os.read(reading, PIECE)
        except BlockingIOError:
            return True
        if piece:
            self._kept = (self._kept + piece)[-KEPT:]
            logger.debug(
                "A tool server wrote to its error output.",
                extra={"server": self._server, "text": piece.decode("utf-8", "replace")},
            )
        return bool(piece)
