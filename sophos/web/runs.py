"""One attempt: reading it, and stopping it."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter

from sophos.errors import ForbiddenOrigin, NotFound, RunNotActive
from sophos.web.inputs import Id
from sophos.web.opened import OpenedRuntime
from sophos.web.problems import described
from sophos.web.schemas import RunBody

router = APIRouter(prefix="/api/runs", tags=["runs"])


@router.get("/{run}", responses=described(NotFound))
async def read(run: Id, runtime: OpenedRuntime) -> RunBody:
    """One attempt, as it is on record."""
    return RunBody.of(await runtime.run(run))


@router.post(
    "/{run}/cancel",
    status_code=HTTPStatus.ACCEPTED,
    responses=described(ForbiddenOrigin, NotFound, RunNotActive),
)
async def cancel(run: Id, runtime: OpenedRuntime) -> RunBody:
    """Stop a run. The request is on record before this answers; the outcome follows."""
    return RunBody.of(await runtime.cancel(run))
