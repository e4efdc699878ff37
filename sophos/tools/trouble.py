"""What can go wrong with one server, and how it is told: half a sentence, with what to do about it.

The MCP library lets through whatever its transport met, alone or in groups. It is met here. No
message holds a URL, a path or what a server sent: any of them may hold a secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import httpx
from mcp import McpError

# What the library makes of a 404: the server does not know the session, and did nothing.
FORGOTTEN: Final = (32_600, "Session terminated")


class ServerTrouble(Exception):
    """The server cannot be used now."""


class SessionOver(Exception):
    """The session ended before the call was answered. `sent`: it may have reached the server."""

    def __init__(self, *, sent: bool) -> None:
        self.sent = sent
        super().__init__()


class CallRefused(Exception):
    """The server answered with an error of the protocol. The message is the server's."""


class CallTimedOut(Exception):
    """Nobody answered in time. `sent`: the call may still finish."""

    def __init__(self, *, sent: bool) -> None:
        self.sent = sent
        super().__init__()


def trouble_of(error: Exception) -> str:
    """The first cause that says something, of an error and all it holds."""
    causes = list(_leaves(error))
    for cause in causes:
        match cause:
            case ServerTrouble():
                return str(cause)
            case McpError() if (cause.error.code, cause.error.message) == FORGOTTEN:
                return "its url answered with status 404"
            case McpError() | CallRefused():
                return "it answered with an error"
            case httpx.HTTPStatusError():
                return f"its url answered with status {cause.response.status_code}"
            case httpx.ConnectError() | httpx.ConnectTimeout():
                return "nothing answers at its url; start it"
            case httpx.TransportError():
                return "the connection to it broke"
            case OSError():
                return f"it cannot be started: {cause.strerror or type(cause).__name__}"
    return f"it failed ({', '.join(sorted({type(cause).__name__ for cause in causes}))})"


def undelivered(error: Exception) -> set[int | str]:
    """The ids of the requests that certainly reached nobody: there was no connection to send them on."""
    ids = set()
    for cause in _leaves(error):
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout):
            request: dict[str, Any] = json.loads(cause.request.content)
            ids.add(request.get("id", ""))
    return ids


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
