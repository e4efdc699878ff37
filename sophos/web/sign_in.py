"""Signing in and out: the page where a person shows the token, and the session they get for it.

A plain form, so that it works without JavaScript. The token is in its body, never in an address.
"""

from __future__ import annotations

import html
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from sophos.errors import RequestError, TooManyGuesses, Unauthorised
from sophos.web.door import Door
from sophos.web.problems import problem
from sophos.web.sessions import COOKIE, LASTS

PATH: Final = "/sign-in"
OUT_PATH: Final = "/sign-out"
# Relative, so that it holds below every prefix a proxy may put before it.
HOME: Final = "./"
WRONG: Final = "That is not the token. Compare it with what you were given, and try again."
_FORM: Final = (Path(__file__).parent / "sign_in.html").read_text(encoding="utf-8")
_SIGNED_IN: Final = (Path(__file__).parent / "signed_in.html").read_text(encoding="utf-8")
_TOLD: Final = ("retry-after", "www-authenticate")  # headers of an error that the page keeps
_NO_PROBLEM: Final = '<p id="problem" hidden></p>'
_NO_NOTE: Final = '<p id="note" hidden></p>'
BECAUSE: Final = {  # what `sign-in?because=` says to who was sent there
    "out": "You are signed out.",
    "ended": "You are no longer signed in here: you signed out in another tab, or your time is over.",
}

router = APIRouter(include_in_schema=False)


@router.api_route(PATH, methods=["GET", "HEAD"])
async def page(request: Request) -> Response:
    """The form; or, with a session, the way out."""
    door: Door | None = request.app.state.door
    if door is None:
        return _to(HOME)
    if door.has_session(dict(request.scope["headers"])):
        return HTMLResponse(_SIGNED_IN)
    told = BECAUSE.get(request.query_params.get("because", ""))
    note = _NO_NOTE if told is None else f'<p id="note" role="status">{told}</p>'
    return HTMLResponse(_FORM.replace(_NO_NOTE, note))


@router.post(PATH)
async def sign_in(request: Request) -> Response:
    door: Door | None = request.app.state.door
    if door is None:
        return _to(HOME)
    fields = parse_qs((await request.body()).decode("utf-8", errors="replace"))
    address = request.client.host if request.client else ""
    try:
        session = door.sign_in(fields.get("token", [""])[0], address)
    except RequestError as error:
        return _refused(error)
    return _with_cookie(_to(HOME), request, session, LASTS)


@router.post(OUT_PATH)
async def sign_out(request: Request) -> Response:
    """End the session, and take it from this browser."""
    door: Door | None = request.app.state.door
    if door is None:
        return _to(HOME)
    door.sign_out(dict(request.scope["headers"]))
    return _with_cookie(_to("sign-in?because=out"), request, "", 0)


def _with_cookie(answer: Response, request: Request, value: str, seconds: int) -> Response:
    """No script reads it, no other site sends it, and where the page came by HTTPS it stays there.

    Without a path it holds for the folder of this page: the whole of Sophos, and nothing beside.
    """
    secure = request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, value, max_age=seconds, path=None, secure=secure, httponly=True, samesite="strict"
    )
    return answer


def _to(place: str) -> RedirectResponse:
    return RedirectResponse(place, status_code=HTTPStatus.SEE_OTHER)


def _refused(error: RequestError) -> HTMLResponse:
    told = WRONG if isinstance(error, Unauthorised) else error.message
    if isinstance(error, TooManyGuesses):
        told = f"Too many wrong tokens came from your address. Try again in {error.wait} seconds."
    answer = problem(error)
    page = _FORM.replace(_NO_PROBLEM, f'<p id="problem" role="alert">{html.escape(told)}</p>')
    page = page.replace("<title>", "<title>Not signed in: ")
    kept = {name: answer.headers[name] for name in _TOLD if name in answer.headers}
    return HTMLResponse(page, status_code=answer.status_code, headers=kept)
