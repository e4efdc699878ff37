"""SophosError → status and body: the one table, and the one shape an error has on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from sophos.errors import (
    BadRequest,
    DecisionNotPending,
    ForbiddenHost,
    ForbiddenOrigin,
    IdempotencyKeyReused,
    MessageTooLarge,
    MethodNotAllowed,
    NotFound,
    RecordDamaged,
    RequestError,
    RunFailure,
    RunNotActive,
    RunNotResumable,
    RunWaiting,
    SessionInProgress,
    ShuttingDown,
    SophosError,
    StartupError,
    StorageUnavailable,
    TooManyGuesses,
    Unauthorised,
    UnsupportedMediaType,
)

RETRY_AFTER: Final = 2  # seconds; about what a restart takes
Responses = dict[int | str, dict[str, Any]]

_QUOTE_LIMIT: Final = 200  # characters of the caller's own words in a message

STATUS: Final[Mapping[type[SophosError], HTTPStatus]] = {
    RequestError: HTTPStatus.BAD_REQUEST,
    BadRequest: HTTPStatus.BAD_REQUEST,
    Unauthorised: HTTPStatus.UNAUTHORIZED,
    TooManyGuesses: HTTPStatus.TOO_MANY_REQUESTS,
    ForbiddenHost: HTTPStatus.FORBIDDEN,
    ForbiddenOrigin: HTTPStatus.FORBIDDEN,
    NotFound: HTTPStatus.NOT_FOUND,
    MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    SessionInProgress: HTTPStatus.CONFLICT,
    RunWaiting: HTTPStatus.CONFLICT,
    RunNotResumable: HTTPStatus.CONFLICT,
    RunNotActive: HTTPStatus.CONFLICT,
    DecisionNotPending: HTTPStatus.CONFLICT,
    MessageTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnsupportedMediaType: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    IdempotencyKeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
    ShuttingDown: HTTPStatus.SERVICE_UNAVAILABLE,
    StorageUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    RecordDamaged: HTTPStatus.SERVICE_UNAVAILABLE,
    StartupError: HTTPStatus.SERVICE_UNAVAILABLE,
    # A run's failure is told by its row and its stream. A request meets one only where the agent
    # could not be opened, and without it no thread can be read.
    RunFailure: HTTPStatus.SERVICE_UNAVAILABLE,
    SophosError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""A class that is not listed takes the status of the nearest class above it that is."""


def schema(name: str) -> dict[str, str]:
    """A schema of the OpenAPI description by its name.

    FastAPI's `model` would build a validator for each status of each route.
    """
    return {"$ref": f"#/components/schemas/{name}"}


def status_of(error: type[SophosError]) -> HTTPStatus:
    """The status an error is answered with."""
    return next(STATUS[cls] for cls in error.__mro__ if cls in STATUS)


def problem(error: SophosError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer to a request that ended in `error`."""
    status = status_of(type(error))
    extra = dict(headers or {})
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        extra["Retry-After"] = str(RETRY_AFTER)
    if isinstance(error, TooManyGuesses):
        extra["Retry-After"] = str(error.wait)
    if status is HTTPStatus.UNAUTHORIZED:
        extra["WWW-Authenticate"] = "Bearer"
    detail: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.conversation is not None:
        detail["conversation"] = error.conversation
    if error.run is not None:
        detail["run"] = error.run
    return JSONResponse({"error": detail}, status_code=status, headers=extra)


def described(*errors: type[SophosError]) -> Responses:
    """The errors of a route for its OpenAPI description, one entry per status."""
    always: tuple[type[SophosError], ...] = (
        BadRequest,
        Unauthorised,
        TooManyGuesses,
        ForbiddenHost,
        StorageUnavailable,
    )
    texts: dict[HTTPStatus, list[str]] = {}
    for error in (*always, *errors):
        texts.setdefault(status_of(error), []).append(f"`{error.code}`: {error().message}")
    content = {"application/json": {"schema": schema("ErrorBody")}}
    return {
        int(status): {"description": "\n\n".join(texts[status]), "content": content}
        for status in sorted(texts)
    }


def install(app: FastAPI) -> None:
    """Answer every failure of a request of `app` in the one shape."""
    app.add_exception_handler(SophosError, _sophos_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unforeseen)


async def _sophos_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SophosError)
    return problem(error)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "string_too_long" and first["loc"][-1] == "message":
        return problem(MessageTooLarge())
    # The last word of the place is the field; the words between name the variant of the body.
    place = " ".join(dict.fromkeys((str(first["loc"][0]), str(first["loc"][-1]))))
    text = f"{place}: {first['msg']}"[:_QUOTE_LIMIT]
    return problem(BadRequest(f"{text}. Compare the request with /openapi.json."))


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return problem(
            NotFound("There is nothing at this address. /openapi.json lists the routes.")
        )
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return problem(MethodNotAllowed(), {"Allow": ", ".join(_methods(request))})
    return problem(BadRequest(), error.headers)


def _methods(request: Request) -> list[str]:
    """Every method of the address. Each route of FastAPI knows its own alone."""
    paths: list[Any] = request.app.state.routes
    matching = [route for route in paths if route.matches(request.scope)[0] is not Match.NONE]
    # What no route matches and still exists is a file.
    return sorted({method for route in matching for method in route.methods}) or ["GET", "HEAD"]


async def _unforeseen(_: Request, __: Exception) -> JSONResponse:
    # The server logs the trace of whatever reaches this point; the caller is told where to look.
    return problem(SophosError())
