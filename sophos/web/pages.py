"""The pages: the UI at /, its files, and a reference of the routes that works offline."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from sophos.web.door import Door

STATIC: Final = Path(__file__).parent / "static"
_PAGE: Final = (STATIC / "index.html").read_text(encoding="utf-8")
_HEADERS: Final = {"Vary": "Cookie", "Accept-Ranges": "none"}
_PAGE_OF_A_SESSION: Final = _PAGE.replace(' id="sign-out" hidden>', ' id="sign-out">')

router = APIRouter(include_in_schema=False)


class WholeFile(FileResponse):
    """A file without parts. Ours are small, and Starlette answers a wrong Range in plain text."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [header for header in scope["headers"] if header[0] != b"range"]
        self.headers["accept-ranges"] = "none"
        await super().__call__({**scope, "headers": headers}, receive, send)


class Files(StaticFiles):
    """The page's files, each whole."""

    def file_response(self, *place: Any, **options: Any) -> Response:
        found = super().file_response(*place, **options)
        if isinstance(found, FileResponse):
            return WholeFile(found.path, found.status_code, stat_result=found.stat_result)
        return found


@router.api_route("/", methods=["GET", "HEAD"])
async def index(request: Request) -> HTMLResponse:
    """The UI; with the way out, if its browser has a session that can be ended."""
    door: Door | None = request.app.state.door
    signed_in = door is not None and door.has_session(dict(request.scope["headers"]))
    return HTMLResponse(_PAGE_OF_A_SESSION if signed_in else _PAGE, headers=_HEADERS)


@router.get("/docs")
async def reference(request: Request) -> HTMLResponse:
    return HTMLResponse(reference_page(request.app.openapi()))


def reference_page(description: dict[str, Any]) -> str:
    """Every route of an OpenAPI description, with its parameters and answers."""
    routes = "".join(
        _route(method, path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<title>Sophos: the API</title><link rel="icon" href="static/icon.svg"><link rel="stylesheet" href="static/style.css"></head>'
        '<body class="reference"><main><h1>The API</h1><p>The whole description, with every body,'
        f' is <a href="openapi.json">/openapi.json</a>.</p>{routes}</main></body></html>'
    )


def _route(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = "".join(
        f"<li><code>{html.escape(parameter['name'])}</code> in {parameter['in']}"
        f"{', needed' if parameter['required'] else ''}</li>"
        for parameter in operation.get("parameters", [])
    )
    answers = "".join(
        f"<dt>{status}</dt><dd>{_text(answer['description'])}</dd>"
        for status, answer in sorted(operation["responses"].items())
    )
    return (
        f"<section><h2><code>{method.upper()} {html.escape(path)}</code></h2>"
        f"<p>{_text(operation.get('description', ''))}</p>"
        f"<ul>{parameters}</ul><dl>{answers}</dl></section>"
    )


def _text(markdown: str) -> str:
    """Our descriptions hold no Markdown but `code`."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(markdown))
