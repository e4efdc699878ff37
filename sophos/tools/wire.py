"""The wire to one server: messages in and out, whichever way the server is reached.

The MCP library opens the transport and speaks the protocol. Between the two stands a tap that sees
every message pass, because three facts are on record nowhere else: the id of a request (to withdraw
it), whether it has left (a call that never left may be made again), and that the other side is gone.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import anyio
import httpx
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.types import JSONRPCMessage, JSONRPCRequest
from pydantic import ValidationError

from sophos.settings import is_loopback
from sophos.tools import keeper
from sophos.tools.last_words import LastWords
from sophos.tools.results import safe
from sophos.tools.servers import Local, Remote
from sophos.tools.trouble import ServerTrouble

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]

# Messages wait here while a server does not read, so that whoever sent one can still give up at
# once. There are never more than the runs have calls.
BACKLOG: Final = 10_000


@dataclass
class Letter(ClientMessageMetadata):
    """Goes with a request as far as the transport. It has left once it has an id."""

    request_id: int | str | None = None
    withdrawn: bool = False


@asynccontextmanager
async def open_wire(
    address: Local | Remote, environment: Mapping[str, str], words: LastWords, seconds: float
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Connect for as long as the block lasts; a child has ended when it is left.

    `seconds` bounds each single exchange with a remote server but the wait for its answer.
    """
    with ExitStack() as afterwards:
        async with _transport(address, environment, words, seconds) as streams:
            # The library leaves them open when its transport fails. Not closed earlier: it would
            # fail over that, and kill a child that is about to end by itself.
            for stream in streams:
                afterwards.enter_context(stream)
            yield streams


@asynccontextmanager
async def _transport(
    address: Local | Remote, environment: Mapping[str, str], words: LastWords, seconds: float
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    if isinstance(address, Local):
        parameters = _parameters(address, environment)
        async with words.listen() as said, stdio_client(parameters, errlog=said) as streams:
            yield streams
        return
    # A proxy for the way out has no business between this machine and itself.
    on_this_machine = is_loopback(urlsplit(address.url).hostname or "")
    async with (
        httpx.AsyncClient(
            headers=dict(address.headers),
            # No bound on reading: a stream may have nothing to say, and a call has its own bound.
            timeout=httpx.Timeout(seconds, read=None),
            trust_env=not on_this_machine,
        ) as client,
        streamable_http_client(address.url, http_client=client) as (incoming, outgoing, _),
    ):
        yield incoming, outgoing


def _parameters(local: Local, environment: Mapping[str, str]) -> StdioServerParameters:
    child = {**environment, **local.env}
    name = os.path.basename(local.command)  # noqa: PTH119 - a bare command is no path
    if shutil.which(local.command, path=child.get("PATH", os.defpath)) is None:
        raise ServerTrouble(f"its command {name} is not there; set up the tool servers first")
    if not local.cwd.is_dir():
        raise ServerTrouble(
            f"its folder {local.cwd.name} is not there; set up the tool servers first"
        )
    command = [local.command, *local.args]
    if sys.platform != "win32":  # There the library keeps children in a job, which ends with us.
        command = [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), *command]
    return StdioServerParameters(
        command=command[0],
        args=command[1:],
        env=child,  # To which the library adds HOME, LOGNAME, PATH, SHELL, TERM and USER of ours.
        cwd=local.cwd,
        encoding_error_handler="replace",  # A stray byte must not end the session.
    )


@asynccontextmanager
async def tapped(
    incoming: Incoming,
    outgoing: Outgoing,
    *,
    ended: Callable[[], None],
    unreadable: Callable[[], None],
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """The same two streams, watched: `ended` is called once nothing more can come or go."""
    deliver, delivered = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    accept, accepted = anyio.create_memory_object_stream[SessionMessage](BACKLOG)

    async def receive() -> None:
        async for message in incoming:
            readable = _mended(message) if isinstance(message, Exception) else message
            if readable is None:
                unreadable()
            else:
                await deliver.send(readable)

    async def send() -> None:
        async for message in accepted:
            letter = message.metadata
            if isinstance(letter, Letter) and isinstance(message.message.root, JSONRPCRequest):
                if letter.withdrawn:
                    continue
                letter.request_id = message.message.root.id
            await outgoing.send(message)

    async def until_gone(relay: Callable[[], Awaitable[None]]) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await relay()
        # Before the session hears of it, so that whoever waits for an answer can tell the two apart:
        # an error of the server's, and no server.
        ended()
        deliver.close()

    with deliver, delivered, accept, accepted:
        async with anyio.create_task_group() as relays:
            relays.start_soon(until_gone, receive)
            relays.start_soon(until_gone, send)
            yield delivered, accept
            relays.cancel_scope.cancel()


def _mended(error: Exception) -> SessionMessage | None:
    """The message the library could not read, if it is one.

    Its parser refuses half a character and deep nesting, and drops the line. A call waits for that
    line until its time is up, although all of the answer is there.
    """
    if not isinstance(error, ValidationError):
        return None
    for problem in error.errors(include_url=False, include_context=False):
        if problem["type"] == "json_invalid" and isinstance(problem["input"], str):
            try:
                whole = safe(json.dumps(json.loads(problem["input"]), ensure_ascii=False))
                return SessionMessage(JSONRPCMessage.model_validate(json.loads(whole)))
            except (ValueError, RecursionError):
                return None
    return None


@contextmanager
def library_kept_quiet() -> Iterator[None]:
    """The library logs whatever it cannot read, contents and all. The tap tells of it instead."""

    def drop(_: logging.LogRecord) -> bool:
        return False

    names = ("mcp.client.stdio", "mcp.client.streamable_http")
    for name in names:
        logging.getLogger(name).addFilter(drop)
    try:
        yield
    finally:
        for name in names:
            logging.getLogger(name).removeFilter(drop)
