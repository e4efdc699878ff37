"""The pages: the UI at /, its files, and a reference of the routes that works offline."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse

STATIC: Final = Path(__file__).parent / "static"

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
async def index() -> FileResponse:
    return FileResponse(STATIC / "index.html")


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
