"""The sign-in page in a real browser: without JavaScript, over HTTPS, below a prefix."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from page import QUIET
from playwright.async_api import ConsoleMessage, Page, async_playwright, expect
from proxied import proxied
from served import run, say

from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD
from sophos.web.guesses import MOST

TOKEN = "correct-horse-battery"


@asynccontextmanager
async def door(
    folder: Path, runtime: ScriptedRuntime | None = None, **options: Any
) -> AsyncIterator[tuple[Page, list[str]]]:
    """The sign-in page, as someone sees it who was sent there, and what the browser complains of."""
    complaints: list[str] = []
    async with proxied(folder, runtime, token=TOKEN) as site, async_playwright() as playwright:
        system = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = await playwright.chromium.launch(executable_path=system, args=QUIET)
        context = await browser.new_context(base_url=f"{site.http.base_url}", **options)
        page = await context.new_page()
        page.on("console", lambda message: complaints.append(told(message)))
        # The page itself sends who has no session to sign-in; without JavaScript one goes there.
        await page.goto("./" if options.get("java_script_enabled", True) else "sign-in")
        await page.wait_for_url("**/sophos/sign-in")
        try:
            yield page, complaints
        finally:
            await browser.close()


def told(message: ConsoleMessage) -> str:
    """What is complained of, and where: without the port, whose digits are no status."""
    return f"{message.text} ({urlsplit(message.location['url']).path})"


async def sign_in(page: Page, token: str) -> None:
    await page.get_by_label("Token").fill(token)
    await page.get_by_label("Token").press("Enter")


def test_without_javascript_a_person_signs_in_and_out(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with door(tmp_path, java_script_enabled=False) as (page, _):
            await sign_in(page, TOKEN)
            await page.wait_for_url("**/sophos/")
            [cookie] = await page.context.cookies()
            assert (cookie["path"], cookie["secure"], cookie["httpOnly"]) == ("/sophos", True, True)
            assert cookie["sameSite"] == "Strict"
            await page.goto("sign-in")
            await page.get_by_role("button", name="Sign out").click()
            await expect(page.get_by_label("Token")).to_be_focused()
            assert await page.context.cookies() == []

    run(scenario())


def test_who_signed_in_sends_and_watches_below_the_prefix(tmp_path: Path) -> None:
    async def scenario() -> None:
        runtime = ScriptedRuntime([say("Hello"), HOLD])
        async with door(tmp_path, runtime) as (page, _):
            await sign_in(page, TOKEN)
            await page.wait_for_url("**/sophos/")
            await page.get_by_label("Message", exact=True).fill("Hi")
            await page.get_by_label("Message", exact=True).press("Enter")
            # The run stands still: what is seen has come through the proxy by itself.
            await expect(page.get_by_text("Hello", exact=True)).to_be_visible(timeout=40_000)
            assert "/sophos/#" in page.url

    run(scenario())


def test_a_wrong_token_is_told_to_those_who_see_and_to_those_who_listen(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with door(tmp_path) as (page, complaints):
            await sign_in(page, "guess")
            await expect(page.get_by_role("alert")).to_contain_text("not the token")
            await expect(page).to_have_title("Not signed in: Sign in to Sophos")
            field = page.get_by_label("Token")
            await expect(field).to_be_focused()
            await expect(field).to_have_accessible_description(re.compile("not the token"))
            await expect(field).to_have_value("")
            assert "guess" not in page.url
            assert not [said for said in complaints if "401" not in said]

    run(scenario())


def test_who_guessed_too_often_is_told_how_long_to_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with door(tmp_path) as (page, _):
            for _ in range(MOST):
                await sign_in(page, "guess")
                await expect(page.get_by_role("alert")).to_contain_text("not the token")
            await sign_in(page, TOKEN)
            await expect(page.get_by_role("alert")).to_contain_text("Try again in")

    run(scenario())


def test_the_page_can_be_read_in_either_colour_scheme(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with door(tmp_path) as (page, _):
            await sign_in(page, "guess")
            grounds = set()
            for scheme, part in product(("light", "dark"), ('[role="alert"]', "#hint", "button")):
                await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal
                colours = await page.locator(part).evaluate(
                    "e => { const s = getComputedStyle(e); const clear = 'rgba(0, 0, 0, 0)';"
                    "let b = s.backgroundColor; for (let p = e; b === clear; p = p.parentElement)"
                    " b = getComputedStyle(p).backgroundColor; return [s.color, b]; }"
                )
                assert contrast(*colours) >= 4.5  # WCAG 2, level AA
                grounds.add(colours[1])
            assert len(grounds) == 4

    run(scenario())


def contrast(one: str, other: str) -> float:
    """Of two `rgb(r, g, b)`, by the formula of WCAG 2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").rstrip(")").split(",")]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
