"""One process that serves: the order of its start and of its stop.

    start   port bound ─► healthz answers ─► runtime open, recovery done ─► ready file
    stop    ready file gone ─► runtime drained: runs and streams end ─► uvicorn stops ─►
            runtime closed ─► exit

uvicorn waits for open connections before it tells an application to shut down, and a stream is an
open connection: so the runtime is drained on the signal itself. Nothing here is durable.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from types import FrameType
from typing import Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sophos import owner_pipe
from sophos.errors import BadRequest, ShuttingDown, SophosError
from sophos.settings import Settings
from sophos.web.app import create_app
from sophos.web.listener import port_of, url_of
from sophos.web.opened import Runtime
from sophos.web.problems import problem
from sophos.web.ready_file import announced

Opening = Callable[[Settings, str], Awaitable[AbstractAsyncContextManager[Runtime]]]
"""Given settings and boot id: import what it takes, and say how to open the runtime."""

CONNECTION_GRACE: Final = 5  # seconds for connections to close once the runtime is drained
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

logger = logging.getLogger(__name__)


class Service:
    """The server, the runtime behind it, and what ends them. One per process."""

    def __init__(self, settings: Settings, listener: socket.socket, boot_id: str) -> None:
        """Call it in the loop it will run in."""
        self._settings = settings
        self._listener = listener
        self._boot_id = boot_id
        self._runtime: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
        self._stopping = asyncio.Event()
        self._answered_last = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None
        self._failure: SophosError | None = None
        self._server = _Server(
            uvicorn.Config(
                create_app(settings, boot_id, self._runtime),
                http=_Protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,  # nobody in front of us is known to be honest
                server_header=False,
                timeout_graceful_shutdown=CONNECTION_GRACE,
            )
        )

    async def run(self, opening: Opening) -> None:
        """Serve until stopped. Raises the SophosError with which the runtime could not open."""
        # The one place outside `runtime` that starts tasks: it starts the runtime.
        async with asyncio.TaskGroup() as group:
            self._holder = group.create_task(self._hold(opening))
            # Not a line of its own: one that is cancelled before its first line runs none.
            self._holder.add_done_callback(self._end_serving)
            report = group.create_task(self._report())
            await self._server.serve(sockets=[self._listener])
            self._answered_last.set()
            report.cancel()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Begin to stop, once; further calls change nothing."""
        if self._stopping.is_set():
            return
        logger.info("Stopping.")
        self._stopping.set()
        if self._holder is not None and not self._runtime.done():
            self._holder.cancel()

    async def _hold(self, opening: Opening) -> None:
        try:
            async with await opening(self._settings, self._boot_id) as runtime:
                self._runtime.set_result(runtime)
                with announced(self._settings.ready_file, self._facts()):
                    logger.info("Serving.", extra=self._facts())
                    await self._stopping.wait()
                await runtime.drain()
                self._server.should_exit = True
                await self._answered_last.wait()
        except SophosError as error:
            self._failure = error

    def _end_serving(self, _: asyncio.Task[None]) -> None:
        if not self._runtime.done():
            # Whoever waits is told; asking for the exception says that it was looked at.
            self._runtime.set_exception(ShuttingDown())
            self._runtime.exception()
        self._server.should_exit = True

    async def _report(self) -> None:
        try:
            readiness = await (await asyncio.shield(self._runtime)).readiness()
        except ShuttingDown:
            return
        except Exception:
            # A courtesy must not end the server: whoever asks readyz gets the error as well.
            logger.exception("Readiness could not be told.")
            return
        if not readiness.ready:
            checks = {f"check_{name}": text for name, text in readiness.checks.items()}
            logger.warning("Not ready: a run fails until this is mended.", extra=checks)

    def _facts(self) -> dict[str, str | int]:
        return {
            "pid": os.getpid(),
            "port": port_of(self._listener),
            "boot_id": self._boot_id,
            "url": url_of(self._listener),
        }


async def serve(
    settings: Settings, listener: socket.socket, boot_id: str, opening: Opening
) -> None:
    """Serve until SIGTERM, SIGINT or the end of the owner's pipe; a second signal exits at once."""
    service = Service(settings, listener, boot_id)
    with _signals(service.stop):
        if settings.owner_pipe is not None:
            owner_pipe.watch(_from_another_thread(service.stop))
        await service.run(opening)


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    came: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        if came:
            os._exit(128 + number)
        came.append(number)
        loop.call_soon_threadsafe(stop)

    # Not the loop's own handlers: those do not exist on Windows, and wait while the loop is busy.
    before = {number: signal.signal(number, on_signal) for number in _STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _from_another_thread(stop: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()

    def call() -> None:
        with suppress(RuntimeError):  # the loop is closed: there is nothing left to stop
            loop.call_soon_threadsafe(stop)

    return call


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: they mean more here than the end of uvicorn."""
        yield


class _Protocol(H11Protocol):
    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP in the one shape of errors, if an answer can be sent at all."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            answer = problem(BadRequest(msg), {"Connection": "close"})
            for event in (
                h11.Response(status_code=answer.status_code, headers=answer.raw_headers),
                h11.Data(data=bytes(answer.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
