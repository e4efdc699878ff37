"""bridge.py --name HOST --port PORT -- COMMAND …: an MCP server of standard input and output, over HTTP.

    client ──┐
    client ──┼─ Streamable HTTP, a session each ─► bridge ─ one pipe ─► one child, one file
    client ──┘

There is one child, started before the port is open, whoever comes and goes: the Memory server
reads its file, changes it and writes it whole, so two of them would undo each other's work, and so
would two calls at once (`--one-at-a-time`). When the child ends, so does the bridge, with exit code
1: whatever restarts it starts both, and a client is told by the protocol that its session is over.

Sessions die with the process; what the child keeps is the child's. A call that its client gives up
is finished all the same, and its answer dropped. Progress of a call is not passed on.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import timedelta
from typing import Any, Final

import anyio
import uvicorn
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client, types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

START_WITHIN: Final = 60.0  # seconds for the child to introduce itself
PING_WITHIN: Final = timedelta(seconds=3)  # for the child to show that it lives
CLOSE_WITHIN: Final = 3  # seconds for open connections to end
PATH: Final = "/mcp"
HEALTH: Final = "/healthz"

# What is passed on, where the child says that it has it.
FORWARDED: Final[dict[str, dict[type[Any], type[Any]]]] = {
    "tools": {
        types.ListToolsRequest: types.ListToolsResult,
        types.CallToolRequest: types.CallToolResult,
    },
    "prompts": {
        types.ListPromptsRequest: types.ListPromptsResult,
        types.GetPromptRequest: types.GetPromptResult,
    },
    "resources": {
        types.ListResourcesRequest: types.ListResourcesResult,
        types.ListResourceTemplatesRequest: types.ListResourceTemplatesResult,
        types.ReadResourceRequest: types.ReadResourceResult,
    },
}

logger = logging.getLogger("bridge")


@asynccontextmanager
async def open_child(command: Sequence[str], ended: anyio.Event) -> AsyncIterator[ClientSession]:
    """Start the child; `ended` is set when it closes its output, which is its end."""
    parameters = StdioServerParameters(
        command=command[0],
        args=list(command[1:]),
        env=dict(os.environ),  # the container's, which holds what the server is to know
        encoding_error_handler="replace",  # A stray byte must not end the session.
    )
    async with stdio_client(parameters) as (incoming, outgoing):
        deliver, delivered = anyio.create_memory_object_stream[Any](0)

        async def watch() -> None:
            async with incoming, deliver:
                async for message in incoming:
                    await deliver.send(message)
            ended.set()

        async with anyio.create_task_group() as watching:
            watching.start_soon(watch)
            async with ClientSession(delivered, outgoing) as child:
                yield child
            watching.cancel_scope.cancel()


def mirror(
    child: ClientSession, hello: types.InitializeResult, *, one_at_a_time: bool
) -> Server[Any]:
    """A server that says what the child says, and answers what the child answers."""
    server: Server[Any] = Server(
        name=hello.serverInfo.name,
        version=hello.serverInfo.version,
        instructions=hello.instructions,
    )
    turn = anyio.Lock() if one_at_a_time else None

    def passing(
        answer: type[Any], turn: anyio.Lock | None
    ) -> Callable[[Any], Awaitable[types.ServerResult]]:
        async def forward(request: Any) -> types.ServerResult:
            # Anew, for as it came it holds its id too, and the child's is another.
            asked = type(request)(params=request.params)
            waiting: AbstractAsyncContextManager[Any] = nullcontext() if turn is None else turn
            # Once begun a call is finished, so that the next one finds the file as it left it.
            async with waiting:
                with anyio.CancelScope(shield=turn is not None):
                    # An error of the child's is raised here and goes back as the same error.
                    result = await child.send_request(types.ClientRequest(asked), answer)
            return types.ServerResult(result)

        return forward

    for capability, requests in FORWARDED.items():
        if getattr(hello.capabilities, capability) is not None:
            for request, answer in requests.items():
                called = turn if request is types.CallToolRequest else None
                server.request_handlers[request] = passing(answer, called)
    return server


def application(child: ClientSession, sessions: StreamableHTTPSessionManager) -> Starlette:
    async def health(_: Request) -> PlainTextResponse:
        try:
            await child.send_request(
                types.ClientRequest(types.PingRequest()),
                types.EmptyResult,
                request_read_timeout_seconds=PING_WITHIN,
            )
        except McpError as error:
            return PlainTextResponse(f"The server does not answer: {error}.\n", status_code=503)
        return PlainTextResponse("The server answers.\n")

    return Starlette(routes=[Route(PATH, _Endpoint(sessions)), Route(HEALTH, health)])


class _Endpoint:
    """A class, because Starlette takes a function for one that answers GET requests alone."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._sessions.handle_request(scope, receive, send)


async def bridge(options: argparse.Namespace) -> int:
    """Serve until SIGTERM, SIGINT or the child's end. Returns the exit code."""
    ended = anyio.Event()
    async with open_child(options.command, ended) as child:
        with anyio.move_on_after(START_WITHIN) as start:
            hello = await child.initialize()
        if start.cancelled_caught:
            logger.error("The server did not introduce itself in time.")
            return 1
        sessions = StreamableHTTPSessionManager(
            mirror(child, hello, one_at_a_time=options.one_at_a_time),
            security_settings=_only_for(options.name),
        )
        http = uvicorn.Server(
            uvicorn.Config(
                application(child, sessions),
                log_level="warning",
                lifespan="off",
                timeout_graceful_shutdown=CLOSE_WITHIN,
            )
        )

        async def end_with_the_child() -> None:
            await ended.wait()
            http.should_exit = True

        def end(*_: object) -> None:
            http.should_exit = True

        with socket.create_server((options.address, options.port)) as listener:
            # uvicorn hears them while it serves, ends well, and raises them again for whoever
            # listened before: us, who hear them from before the port is told. Until here they end
            # the process at once, and the child's pipe.
            signal.signal(signal.SIGTERM, end)
            signal.signal(signal.SIGINT, end)
            port = listener.getsockname()[1]
            print(f"Port {port} leads to {hello.serverInfo.name}.", flush=True)
            async with sessions.run(), anyio.create_task_group() as watching:
                watching.start_soon(end_with_the_child)
                await http.serve(sockets=[listener])
                watching.cancel_scope.cancel()
    if ended.is_set():
        logger.error("The server ended, and the bridge with it.")
    return int(ended.is_set())


def _only_for(name: str) -> TransportSecuritySettings:
    # A page whose name is made to resolve to this address sends its own name as Host.
    names = (name, "127.0.0.1", "localhost")
    return TransportSecuritySettings(allowed_hosts=[f"{name}:*" for name in names])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="the host name clients know it by")
    parser.add_argument("--port", type=int, required=True, help="0 picks a free one")
    parser.add_argument("--address", default="0.0.0.0", help="the address to listen on")  # noqa: S104 - a container's own
    parser.add_argument("--one-at-a-time", action="store_true", help="calls wait for each other")
    parser.add_argument("command", nargs="+", help="the server to start, with its arguments")
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    # It tells of every viewer that leaves as of an error, and may quote what was said.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    return anyio.run(bridge, options)


if __name__ == "__main__":
    sys.exit(main())
