"""One Chromium and one server for every test of the page; a fresh browser context for each.

What a test does to its server (stopping it, another runtime) it does to one of its own: `served`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Self

from certificate import browser_option
from playwright.async_api import Browser, Locator, Page, async_playwright, expect
from served import Site, served

from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import Script

# Its own calls home are off, so that every request seen is the page's.
QUIET: Final = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", browser_option()),
]
LOADED: Final = 15_000  # milliseconds an expectation is waited for; only what fails takes that long


@dataclass(kw_only=True)
class Tab:
    """A page of its own context, what it asked for, and what it complained of."""

    page: Page
    base: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def conversation(self) -> str:
        return self.page.url.partition("#")[2]

    @property
    def box(self) -> Locator:
        return self.page.get_by_label("Message", exact=True)

    def at(self, selector: str, *, has_text: str | None = None) -> Locator:
        return self.page.locator(selector, has_text=has_text)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def send(self, text: str) -> str:
        """Type and press Enter; the conversation, once the server has accepted it."""
        before = await self.at(".chip").count()
        await self.box.fill(text)
        await self.box.press("Enter")
        await expect(self.at(".chip")).to_have_count(before + 1)
        return self.conversation

    async def status(self, status: str) -> None:
        """Wait until the conversation's newest run is known to be this."""
        await expect(self.at("main header .status")).to_have_attribute("data-status", status)


Play = Callable[[Tab, Site], Awaitable[None]]


@asynccontextmanager
async def opened(browser: Browser, site: str, path: str = "", **options: Any) -> AsyncIterator[Tab]:
    """The page of a site, loaded; `options` are the browser context's."""
    context = await browser.new_context(**options)
    try:
        page = await context.new_page()
        tab = Tab(page=page, base=site)
        context.on("request", lambda request: tab.requests.append(request.url))
        page.on("console", lambda said: tab.complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        await page.goto(f"{site}/{path}")
        yield tab
    finally:
        await context.close()


class Stage:
    """The browser and the shared server, in a loop that outlives a test."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._stack = AsyncExitStack()

    def __enter__(self) -> Self:
        self._runner.run(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    async def _open(self) -> None:
        expect.set_options(timeout=LOADED)
        system = shutil.which("chromium") or shutil.which("chromium-browser")
        playwright = await self._stack.enter_async_context(async_playwright())
        self.browser = await playwright.chromium.launch(executable_path=system, args=QUIET)
        self._stack.push_async_callback(self.browser.close)
        self.site = await self._stack.enter_async_context(served())

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """In the loop that the browser lives in."""
        self._runner.run(work)

    def play(self, scenario: Play, *scripts: Script, **options: Any) -> None:
        """Open the page on an empty server whose runs say this, and play the scenario."""

        async def played() -> None:
            self.site.runtime.threads.clear()
            self.site.runtime.scripts[:] = scripts or [[]]
            base = str(self.site.http.base_url)
            async with opened(self.browser, base, **options) as tab:
                await scenario(tab, self.site)

        self.run(played())

    def play_on(self, runtime: ScriptedRuntime, scenario: Play, **options: Any) -> None:
        """As `play`, on a server of its own, which the scenario may stop."""

        async def played() -> None:
            async with (
                served(runtime) as site,
                opened(self.browser, str(site.http.base_url), **options) as tab,
            ):
                await scenario(tab, site)

        self.run(played())

    def visit(self, base: str, scenario: Callable[[Tab], Awaitable[None]], **options: Any) -> None:
        """Open the page of a server that is somebody else's."""

        async def played() -> None:
            async with opened(self.browser, base, **options) as tab:
                await scenario(tab)

        self.run(played())


async def rows(site: Site) -> list[dict[str, Any]]:
    """The conversations, as the server lists them."""
    answer = await site.http.get("/api/conversations")
    found: list[dict[str, Any]] = json.loads(answer.text)["conversations"]
    return found
