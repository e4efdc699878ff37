"""The runtime as the routes see it, and the wait until it is open.

A protocol, because the runtime's own modules import LangGraph and healthz answers before that is
done; and because the tests put a scripted one in its place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Protocol

from fastapi import Depends, Request

from sophos.conversation import Checkpoint
from sophos.events import Sent
from sophos.run import Run
from sophos.runtime.answers import ConversationView, Page, Readiness, Started


class Runtime(Protocol):
    """What `sophos.runtime.service.Runtime` promises, in the words of its docstrings."""

    async def start_message(
        self, text: str, *, conversation: str | None, key: str | None
    ) -> Started: ...

    async def start_resume(self, *, conversation: str, key: str | None) -> Started: ...

    async def cancel(self, run: str) -> Run: ...

    async def subscribe(
        self, conversation: str, *, run: str | None, last_event_id: str | None
    ) -> AsyncIterator[Sent] | None: ...

    async def conversations(self, *, limit: int, before: str | None) -> Page: ...

    async def conversation(self, conversation: str) -> ConversationView: ...

    async def delete_conversation(self, conversation: str) -> None: ...

    async def runs(self, conversation: str) -> Sequence[Run]: ...

    async def run(self, run: str) -> Run: ...

    async def checkpoints(self, conversation: str) -> AsyncIterator[Checkpoint]: ...

    async def readiness(self) -> Readiness: ...

    async def drain(self) -> None: ...


async def opened(request: Request) -> Runtime:
    """Wait until recovery is done. Raises ShuttingDown when the runtime could not be opened."""
    opening: asyncio.Future[Runtime] = request.app.state.runtime
    # Shielded: a request that is cancelled must not cancel what all the others wait for.
    return opening.result() if opening.done() else await asyncio.shield(opening)


OpenedRuntime = Annotated[Runtime, Depends(opened)]
