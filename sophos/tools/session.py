"""One session with one server, from its start to its end. All of it dies with the process.

The MCP library demands that a session is opened and closed by the same task, so each has an owner
task, which does just that. Everyone else only makes requests on it, each from their own task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextvars import Context
from typing import Any, Final

import anyio
from mcp import ClientSession, McpError
from mcp.types import Implementation, ServerNotification, ToolListChangedNotification
from pydantic import ValidationError

from sophos.tools.catalogue import Catalogue, catalogue_of
from sophos.tools.dialogue import Dialogue
from sophos.tools.last_words import LastWords
from sophos.tools.servers import Local, Server
from sophos.tools.trouble import (
    CallRefused,
    ServerTrouble,
    SessionOver,
    trouble_of,
    undelivered,
)
from sophos.tools.wire import open_wire, tapped

logger = logging.getLogger(__name__)

CLIENT: Final = Implementation(name="sophos", version="0.1.0")
# The library gives a child 2 s to end by itself, and 2 s more before it kills it.
CLOSE_LIMIT: Final = 6.0  # seconds
CLOSED: Final = "it was closed"


class Session:
    """`over`: it takes no more calls, and `trouble` says why. `connected`: it once took some."""

    def __init__(
        self,
        server: Server,
        environment: Mapping[str, str],
        *,
        seconds: float,
        delay: float = 0,
        before: Session | None = None,
    ) -> None:
        """Start connecting, `delay` seconds after the session `before` has ended.

        `seconds` bounds starting and listing together, and each call.
        """
        self.server = server
        self.seconds = seconds
        self.over = False
        self.connected = False
        self.trouble = ""
        self.settled = asyncio.Event()
        self.ended_at = 0.0
        self._leave = asyncio.Event()
        self._words = LastWords(server.name)
        self._catalogue: Catalogue = {}
        self._news = 0  # notices that the list has changed
        self._heeded = 0
        self._noisy = False
        self._dialogue: Dialogue | None = None
        # A context of its own: this task outlives the run that happens to be the first to ask.
        self._owner = asyncio.create_task(
            self._own(environment, delay, before),
            name=f"tool server {server.name}",
            context=Context(),
        )

    async def catalogue(self) -> Catalogue:
        """What the server lists, as soon as it is connected; raises ServerTrouble."""
        await self.settled.wait()
        if self._news > self._heeded and self._dialogue is not None and not self.over:
            await self._list_again(self._dialogue)
        if self.over:
            raise ServerTrouble(self.trouble)
        return self._catalogue

    async def call(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        """The result as JSON. Raises SessionOver, CallRefused or CallTimedOut."""
        if self.over or self._dialogue is None:
            raise SessionOver(sent=False)
        try:
            return await self._dialogue.call(name, arguments)
        except SessionOver:
            self._end("it ended unexpectedly")
            raise

    def leave(self) -> None:
        """Begin to end the session."""
        self._end(CLOSED)

    async def close(self) -> None:
        """End the session and its child. Bounded, and may be called again."""
        self.leave()
        await asyncio.wait({self._owner}, timeout=CLOSE_LIMIT)
        if not self._owner.done():
            # Cancelled, the library kills the child at once, and the keeper ends what is left of it.
            self._owner.cancel()
            await asyncio.wait({self._owner}, timeout=CLOSE_LIMIT)

    async def _own(
        self, environment: Mapping[str, str], delay: float, before: Session | None
    ) -> None:
        lost: set[int | str] = set()
        try:
            if before is not None:
                await before.close()  # Never two children of one server: they share its files.
            with anyio.move_on_after(delay):
                await self._leave.wait()
            if not self.over:
                await self._live(environment)
        except Exception as error:  # noqa: BLE001 - the library lets through whatever its transport met
            lost = undelivered(error)
            self._end(trouble_of(error))
        finally:
            self._end("it ended unexpectedly")
            if self._dialogue is not None:
                self._dialogue.end(lost)
            self._log_end()

    async def _live(self, environment: Mapping[str, str]) -> None:
        async with (
            open_wire(self.server.address, environment, self._words, self.seconds) as wire,
            tapped(*wire, ended=self._hear_silence, unreadable=self._hear_noise) as streams,
            ClientSession(*streams, message_handler=self._hear, client_info=CLIENT) as client,
        ):
            dialogue = Dialogue(client, seconds=self.seconds, gone=lambda: self.over)
            try:
                with anyio.fail_after(self.seconds):
                    await client.initialize()
                    self._catalogue = catalogue_of(self.server, await dialogue.tools())
            except TimeoutError:
                self._end(f"it did not answer within {self.seconds:g} s")
            except (McpError, CallRefused, ServerTrouble) as error:
                self._end(trouble_of(error))
            except SessionOver:
                self._end("it ended before it answered")
            except (RuntimeError, ValidationError):
                self._end("it does not speak MCP as it is known here")
            else:
                self._dialogue = dialogue
                self.connected = True
                self.settled.set()
                self._log_start()
            # Whoever waits goes on from here. Cleaning up after a failure may take seconds.
            await self._leave.wait()

    async def _list_again(self, dialogue: Dialogue) -> None:
        news = self._news
        try:
            with anyio.fail_after(self.seconds):
                self._catalogue = catalogue_of(self.server, await dialogue.tools())
        except (TimeoutError, CallRefused, SessionOver) as error:
            raise ServerTrouble("its tools have changed, and it does not list them") from error
        self._heeded = news

    def _hear_silence(self) -> None:
        self._end("it ended unexpectedly" if self.connected else "it ended before it answered")
        # Of a child's calls nothing more will be known, and ending it may take seconds. Of a remote
        # server's, the transport may still tell which reached nobody.
        if self._dialogue is not None and isinstance(self.server.address, Local):
            self._dialogue.end(set())

    def _hear_noise(self) -> None:
        if not self._noisy:
            logger.warning(
                "A tool server sent something that is not MCP.", extra={"server": self.server.name}
            )
        self._noisy = True

    async def _hear(self, message: object) -> None:
        if isinstance(message, ServerNotification) and isinstance(
            message.root, ToolListChangedNotification
        ):
            self._news += 1

    def _end(self, trouble: str) -> None:
        if self.over:
            return  # The first reason counts: the others follow from it.
        self.over = True
        self.trouble = trouble
        self.ended_at = asyncio.get_running_loop().time()
        self.settled.set()
        self._leave.set()

    def _log_start(self) -> None:
        logger.info(
            "A tool server is connected.",
            extra={"server": self.server.name, "tools": len(self._catalogue)},
        )

    def _log_end(self) -> None:
        if self.trouble != CLOSED:
            logger.warning(
                "A tool server cannot be used.",
                extra={
                    "server": self.server.name,
                    "reason": self.trouble,
                    "last_words": str(self._words),
                },
            )
