"""The page before a server that says nothing: a stream, a message and a record that never come.

The browser's clock is the test's: half a minute passes at once, and nothing in the page knows of it.
"""

from __future__ import annotations

import asyncio

from page import Play, Stage, Tab, rows
from playwright.async_api import Route, expect
from served import Site, say

from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD, Line

BORNE = 40_000  # milliseconds of a stream's silence; the page gives up after 45,000
TOO_LONG = 50_000
UNANSWERED = 31_000  # milliseconds; the page waits 30,000 for an answer


def timed(scenario: Play) -> Play:
    """The scenario, in a page whose clock can be moved."""

    async def played(tab: Tab, site: Site) -> None:
        await tab.page.clock.install()
        await tab.page.reload()
        tab.requests.clear()
        await scenario(tab, site)

    return played


class Silence:
    """A route that never answers a request, once the server has it."""

    def __init__(self, *, taken: bool) -> None:
        self.taken = taken
        self.keys: list[str | None] = []
        self.asked = asyncio.Event()

    async def __call__(self, route: Route) -> None:
        self.keys.append(route.request.headers.get("idempotency-key"))
        if len(self.keys) > 1:
            await route.continue_()
            return
        if self.taken:
            await route.fetch()
        self.asked.set()


def streams(tab: Tab) -> list[str]:
    """From where each stream was asked for."""
    return [url.partition("last_event_id=")[2][36:] for url in tab.requests if "chat?" in url]


def test_a_stream_that_falls_silent_is_asked_for_again_after_its_last_event(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        await expect(tab.at("#stream .answer")).to_have_text("one")
        await tab.page.clock.fast_forward(BORNE)
        await expect(tab.at("#connection-facts")).to_contain_text("connectionlive")
        assert streams(tab) == [""]
        async with tab.page.expect_request("**/api/chat?*"):
            await tab.page.clock.fast_forward(TOO_LONG)
        await expect(tab.at("#connection-facts")).to_contain_text("connectionlive")
        assert streams(tab) == ["", ":1"]
        site.runtime.proceed(conversation)
        await expect(tab.at("#stream .answer")).to_have_text("one two")
        await site.runtime.watched_by(1)

    stage.play_on(ScriptedRuntime([say("one"), HOLD, say(" two"), HOLD]), timed(scenario))


def test_a_stream_that_says_something_is_left_alone_however_long_it_takes(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        for heard in ("a", "ab", "abc"):
            await expect(tab.at("#stream .answer")).to_have_text(heard)
            await tab.page.clock.fast_forward(BORNE)
            site.runtime.proceed(conversation)
        await expect(tab.at("#stream .answer")).to_have_text("abcd")
        assert streams(tab) == [""]

    words: list[Line] = [say("a"), HOLD, say("b"), HOLD, say("c"), HOLD, say("d"), HOLD]
    stage.play(timed(scenario), words)


def test_a_message_that_is_never_answered_is_told_and_sent_again_as_the_same(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        silence = Silence(taken=True)
        await tab.page.route("**/api/chat", silence)
        await tab.box.fill("once")
        await tab.box.press("Enter")
        await silence.asked.wait()
        await tab.page.clock.fast_forward(UNANSWERED)
        told = tab.page.get_by_role("alert")
        await expect(told).to_contain_text("NO_ANSWER: The server may or may not have your message")
        await expect(tab.at("#connection")).to_be_hidden()
        await expect(told).to_contain_text("Send it again: it is taken only once.")
        await tab.box.press("Enter")
        await expect(tab.at("#record")).to_contain_text("ok")
        await expect(told).to_be_hidden()
        assert len(await rows(site)) == 1
        assert silence.keys[0] == silence.keys[1] is not None

    stage.play(timed(scenario), [say("ok")])


def test_a_message_that_the_record_turns_out_to_have_need_not_be_sent_again(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("first")
        await tab.status("completed")
        silence = Silence(taken=True)
        await tab.page.route("**/api/chat", silence)
        await tab.box.fill("second")
        await tab.box.press("Enter")
        await silence.asked.wait()
        await tab.page.clock.fast_forward(UNANSWERED)
        await expect(tab.at("#record .user")).to_have_count(2)
        await expect(tab.box).to_have_value("")
        await expect(tab.page.get_by_role("alert")).to_be_hidden()
        assert len(silence.keys) == 1

    stage.play(timed(scenario), [say("ok")])


def test_a_resume_that_never_reached_the_server_can_be_asked_for_again(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Hi")
        await tab.button("Stop").click()
        await tab.status("cancelled")
        silence = Silence(taken=False)
        await tab.page.route("**/api/chat", silence)
        await tab.button("Resume").click()
        await silence.asked.wait()
        await tab.page.clock.fast_forward(UNANSWERED)
        await expect(tab.page.get_by_role("alert")).to_contain_text("Resume again: it starts one")
        await tab.button("Resume").click()
        await tab.status("completed")
        await expect(tab.page.get_by_role("alert")).to_be_hidden()
        await expect(tab.at(".chip")).to_have_count(2)

    stage.play(timed(scenario), [HOLD], [say("ok")])


def test_a_record_that_never_comes_is_told_of_and_read_again(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = (await site.start("Hi"))["conversation"]
        silence = Silence(taken=True)
        await tab.page.route("**/api/conversations/*?render=html", silence)
        await tab.page.route("**/api/healthz", lambda route: route.abort())
        await tab.page.evaluate(f"location.hash = '{conversation}'")
        await silence.asked.wait()
        await tab.page.clock.fast_forward(UNANSWERED)
        await expect(tab.at("#connection-text")).to_contain_text("The server does not answer.")
        await tab.page.unroute("**/api/healthz")
        await tab.button("Try now").click()
        await expect(tab.at("#record")).to_contain_text("ok")
        await expect(tab.at("#connection")).to_be_hidden()

    stage.play(timed(scenario), [say("ok")])
