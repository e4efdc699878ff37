"""One real Chromium page on a served site, and every request it makes."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Page, Request, async_playwright
from served import Site, served

from sophos.testing.runtime import ScriptedRuntime

# Its own calls home are off, so that every request seen is the page's.
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@dataclass(kw_only=True)
class Seen:
    """What the browser did: requests by address, and what it complained of."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@asynccontextmanager
async def opened(
    runtime: ScriptedRuntime, **options: Any
) -> AsyncIterator[tuple[Page, Site, Seen]]:
    """The page of a fresh server, loaded; `options` are the browser context's."""
    seen = Seen()
    system = shutil.which("chromium") or shutil.which("chromium-browser")
    async with served(runtime) as site, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=system, args=QUIET)
        context = await browser.new_context(**options)
        context.on("request", lambda request: seen.requests.append(_address(request)))
        page = await context.new_page()
        page.on("console", lambda message: seen.complaints.append(message.text))
        page.on("pageerror", lambda error: seen.complaints.append(str(error)))
        await page.goto(f"{site.http.base_url}/")
        try:
            yield page, site, seen
        finally:
            await browser.close()


def _address(request: Request) -> str:
    return request.url
