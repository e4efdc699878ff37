"""The runtime once it is open: what every route but healthz waits for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

if TYPE_CHECKING:
    from sophos.runtime.service import Runtime
else:
    # Deferred: the runtime's module imports LangGraph, and healthz answers before that is done.
    # FastAPI needs the name only to see that there is one.
    Runtime = Any


async def opened(request: Request) -> Runtime:
    """Wait until recovery is done. Raises ShuttingDown when the runtime could not be opened."""
    opening: asyncio.Future[Runtime] = request.app.state.runtime
    # Shielded: a request that is cancelled must not cancel what all the others wait for.
    return opening.result() if opening.done() else await asyncio.shield(opening)


OpenedRuntime = Annotated[Runtime, Depends(opened)]
