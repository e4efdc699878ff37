"""The page where a class has it: behind a proxy, over HTTPS, below a prefix, with a token."""

from __future__ import annotations

from pathlib import Path

from page import Stage, opened
from playwright.async_api import expect
from proxied import proxied
from served import say

from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD

TOKEN = "correct-horse-battery"


def test_who_signs_in_gets_the_conversation_that_was_wanted_and_its_stream(
    stage: Stage, tmp_path: Path
) -> None:
    async def work() -> None:
        runtime = ScriptedRuntime([say("one"), HOLD, say(" two"), HOLD])
        wanted = (await runtime.start_message("Hi", conversation=None, key=None)).conversation
        async with proxied(tmp_path, runtime, token=TOKEN) as site:
            base = str(site.http.base_url).rstrip("/")
            options = {"ignore_https_errors": True}
            async with opened(stage.browser, base, f"#{wanted}", **options) as tab:
                await tab.page.wait_for_url(f"{base}/sign-in")
                await tab.page.get_by_label("Token").fill(TOKEN)
                await tab.page.get_by_label("Token").press("Enter")
                await expect(tab.at("#stream .answer")).to_have_text("one")
                runtime.proceed(wanted)
                await expect(tab.at("#stream .answer")).to_have_text("one two")
                assert tab.page.url == f"{base}/#{wanted}"
                assert all(url.startswith(f"{base}/") for url in tab.requests)

    stage.run(work())
