"""Alive is one question, ready another."""

from __future__ import annotations

import os
from http import HTTPStatus

from fastapi import APIRouter, Request, Response

from sophos.web.opened import OpenedRuntime
from sophos.web.problems import Responses, described, schema
from sophos.web.schemas import Health, Readiness

router = APIRouter(prefix="/api", tags=["health"])

UNREADY: Responses = {
    HTTPStatus.SERVICE_UNAVAILABLE.value: {
        "description": "`unready`: what to mend stands in the checks. Or `STORAGE_UNAVAILABLE`.",
        "content": {
            "application/json": {"schema": {"anyOf": [schema("Readiness"), schema("ErrorBody")]}}
        },
    }
}


@router.get("/healthz")
async def healthz(request: Request) -> Health:
    """Alive. Touches nothing, and answers while the runtime is still being opened."""
    return Health(status="ok", boot_id=request.app.state.boot_id, pid=os.getpid())


@router.get("/readyz", responses={**described(), **UNREADY})
async def readyz(runtime: OpenedRuntime, response: Response) -> Readiness:
    """Whether a run started now can do its work, and what to mend if not."""
    readiness = await runtime.readiness()
    if not readiness.ready:
        response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    return Readiness(status="ready" if readiness.ready else "unready", checks=readiness.checks)
