"""The page where a class has it: behind a proxy, over HTTPS, below a prefix, with a token."""

from __future__ import annotations

from pathlib import Path

from page import Stage, Tab, opened
from playwright.async_api import Page, expect
from proxied import proxied
from served import Site, say, served

from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD

TOKEN = "correct-horse-battery"


async def sign_in(page: Page) -> None:
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_label("Token").press("Enter")


def test_who_signs_in_gets_the_conversation_that_was_wanted_and_its_stream(
    stage: Stage, tmp_path: Path
) -> None:
    async def work() -> None:
        runtime = ScriptedRuntime([say("one"), HOLD, say(" two"), HOLD])
        wanted = (await runtime.start_message("Hi", conversation=None, key=None)).conversation
        async with proxied(tmp_path, runtime, token=TOKEN) as site:
            base = str(site.http.base_url).rstrip("/")
            async with opened(stage.browser, base, f"#{wanted}") as tab:
                await tab.page.wait_for_url(f"{base}/sign-in")
                await sign_in(tab.page)
                await expect(tab.at("#stream .answer")).to_have_text("one")
                runtime.proceed(wanted)
                await expect(tab.at("#stream .answer")).to_have_text("one two")
                assert tab.page.url == f"{base}/#{wanted}"
                assert all(url.startswith(f"{base}/") for url in tab.requests)

    stage.run(work())


def test_who_signs_out_does_so_in_every_tab_and_each_of_them_says_it(stage: Stage) -> None:
    async def work() -> None:
        runtime = ScriptedRuntime([say("secret"), HOLD])
        wanted = (await runtime.start_message("Hi", conversation=None, key=None)).conversation
        async with served(runtime, token=TOKEN) as site:
            base = str(site.http.base_url)
            async with opened(stage.browser, base, f"#{wanted}") as tab:
                await sign_in(tab.page)
                await expect(tab.at("#stream .answer")).to_have_text("secret")
                other = await tab.page.context.new_page()
                await other.goto(f"{base}/#{wanted}")
                await expect(other.locator("#stream .answer")).to_have_text("secret")
                await tab.button("Sign out").press("Enter")
                await expect(tab.at("#note")).to_have_text("You are signed out.")
                await expect(other.locator("#note")).to_contain_text("You are no longer signed in")
                await runtime.watched_by(0)
                assert await tab.page.context.cookies() == []
                await tab.page.go_back()
                await expect(tab.page.get_by_label("Token")).to_be_focused()

    stage.run(work())


def test_without_an_answer_nobody_is_told_that_they_have_signed_out(stage: Stage) -> None:
    async def work() -> None:
        async with (
            served(ScriptedRuntime(), token=TOKEN) as site,
            opened(stage.browser, str(site.http.base_url)) as tab,
        ):
            await sign_in(tab.page)
            await expect(tab.button("Sign out")).to_be_visible()
            await tab.page.context.set_offline(True)
            await tab.button("Sign out").click()
            await expect(tab.at("#connection-text")).to_contain_text("offline")
            await expect(tab.button("Sign out")).to_be_visible()
            await tab.page.context.set_offline(False)
            await tab.button("Sign out").click()
            await expect(tab.at("#note")).to_have_text("You are signed out.")

    stage.run(work())


def test_where_nobody_signs_in_nobody_is_asked_to_sign_out(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await expect(tab.button("New chat")).to_be_visible()
        assert await tab.button("Sign out").count() == 0

    stage.play(scenario)
