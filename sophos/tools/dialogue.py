"""The requests made on one session: bounded, withdrawn when nobody waits any more, let go at its end.

Each is made by the task of whoever asks. All of it dies with the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio
from mcp import ClientSession, McpError
from mcp.types import (
    CONNECTION_CLOSED,
    CallToolRequest,
    CallToolRequestParams,
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    ClientRequest,
    ListToolsRequest,
    PaginatedRequestParams,
)
from pydantic import BaseModel, ConfigDict

from sophos.tools.trouble import FORGOTTEN, CallRefused, CallTimedOut, ServerTrouble, SessionOver
from sophos.tools.wire import Letter

MOST_PAGES: Final = 100  # of a list of tools


class _Answer(BaseModel):
    """Any result as it came: each of its readers looks into it field by field."""

    model_config = ConfigDict(extra="allow")


class Dialogue:
    """SessionOver, from any method, means that nothing more can be asked here."""

    def __init__(self, client: ClientSession, *, seconds: float, gone: Callable[[], bool]) -> None:
        """`seconds` bounds each call; `gone` says whether the other side is known to have left."""
        self._client = client
        self._seconds = seconds
        self._gone = gone
        self._calls: set[anyio.CancelScope] = set()
        self._undelivered: set[int | str] = set()

    async def call(self, name: str, arguments: dict[str, Any]) -> Mapping[str, Any]:
        """The result as JSON. Raises SessionOver, CallRefused or CallTimedOut."""
        params = CallToolRequestParams(name=name, arguments=arguments)
        letter = Letter()
        with anyio.CancelScope() as ended:
            self._calls.add(ended)
            try:
                with anyio.fail_after(self._seconds):
                    return await self._ask(ClientRequest(CallToolRequest(params=params)), letter)
            except TimeoutError as error:
                await self._withdraw(letter, "timed out")
                raise CallTimedOut(sent=letter.request_id is not None) from error
            except asyncio.CancelledError:
                if not ended.cancel_called:
                    await self._withdraw(letter, "cancelled")
                raise
            finally:
                self._calls.discard(ended)
        raise SessionOver(sent=self._has_left(letter))

    async def tools(self) -> list[Any]:
        """All pages of the server's list. Raises SessionOver, CallRefused or ServerTrouble."""
        listed: list[Any] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            params = PaginatedRequestParams(cursor=cursor)
            page = await self._ask(ClientRequest(ListToolsRequest(params=params)), Letter())
            tools, cursor = page.get("tools"), page.get("nextCursor")
            listed += tools if isinstance(tools, list) else []
            if not cursor or not isinstance(cursor, str):
                return listed
        raise ServerTrouble("its list of tools has no end")

    def end(self, undelivered: set[int | str]) -> None:
        """Let go of every call that still waits. The library forgets them when its transport fails."""
        self._undelivered = undelivered
        for call in set(self._calls):
            call.cancel()

    async def _ask(self, request: ClientRequest, letter: Letter) -> Mapping[str, Any]:
        try:
            answer = await self._client.send_request(request, _Answer, metadata=letter)
        except McpError as error:
            if (error.error.code, error.error.message) == FORGOTTEN:
                raise SessionOver(sent=False) from error
            if error.error.code == CONNECTION_CLOSED and self._gone():
                raise SessionOver(sent=self._has_left(letter)) from error
            raise CallRefused(error.error.message) from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise SessionOver(sent=self._has_left(letter)) from error
        return answer.model_extra or {}

    async def _withdraw(self, letter: Letter, reason: str) -> None:
        """Tell the server that nobody waits any more. A call that has not left now never will."""
        letter.withdrawn = True
        if letter.request_id is None:
            return
        params = CancelledNotificationParams(requestId=letter.request_id, reason=reason)
        notice = ClientNotification(CancelledNotification(params=params))
        # Into a queue with room: nothing is waited for, so a cancellation is not held up.
        with (
            anyio.CancelScope(shield=True),
            suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
        ):
            await self._client.send_notification(notice)

    def _has_left(self, letter: Letter) -> bool:
        return letter.request_id is not None and letter.request_id not in self._undelivered
