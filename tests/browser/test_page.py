"""The page in a real browser: what is streamed, what is kept, and what never happens."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from page import opened
from playwright.async_api import Page, expect
from served import run, say, served, trace

from sophos.errors import ModelUnreachable
from sophos.events import TraceEvent
from sophos.protections import Protection, Protections
from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import DECISION, HOLD, Line

HOSTILE = (
    "<script>document.title='owned'</script><img src=http://evil.example/a.png onerror=alert(1)>"
    " ![p](http://evil.example/pixel.png) [j](javascript:alert(1)) <style>*{display:none}</style>"
)


async def send(page: Page, text: str) -> None:
    await page.get_by_label("Message").fill(text)
    await page.get_by_label("Message").press("Enter")


def test_tokens_are_watched_and_then_the_record_is_read() -> None:
    async def scenario() -> None:
        runtime = ScriptedRuntime([say("Hel"), HOLD, say("lo *you*"), HOLD])
        async with opened(runtime) as (page, site, _):
            await send(page, "Hi")
            live, record = page.locator("#live"), page.locator("#record")
            await expect(live.locator(".answer")).to_have_text("Hel")
            await expect(record).to_contain_text("Hi")
            conversation = page.url.partition("#")[2]
            site.runtime.proceed(conversation)
            await expect(live.locator(".answer")).to_have_text("Hello *you*")
            assert "Hello" not in await record.inner_text()
            site.runtime.proceed(conversation)
            await expect(record.locator("em")).to_have_text("you")
            await expect(live).to_be_hidden()
            await expect(page.locator("#list .status")).to_have_text("completed")

    run(scenario())


def test_a_reload_in_mid_stream_loses_nothing_and_tells_nothing_twice() -> None:
    async def scenario() -> None:
        first: list[Line] = [
            say("one"),
            trace(TraceEvent.LEAVE),
            HOLD,
            say(" two", message="m2", step=2),
        ]
        async with opened(ScriptedRuntime([*first, HOLD])) as (page, site, _):
            await send(page, "Hi")
            await expect(page.locator("#stream .answer")).to_have_text("one")
            await page.reload()
            await expect(page.locator("#stream .answer")).to_have_text("one")
            site.runtime.proceed(page.url.partition("#")[2])
            await expect(page.locator("#stream .answer")).to_have_text(["one", " two"])
            shown = await page.locator("#scroller").inner_text()
            assert (shown.count("one"), shown.count("Hi")) == (1, 1)

    run(scenario())


def test_what_was_accepted_and_did_not_reach_the_thread_is_still_shown() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([HOLD])) as (page, site, _):
            await send(page, HOSTILE)
            await expect(page.get_by_role("button", name="Stop")).to_be_visible()
            thread = site.runtime.threads[page.url.partition("#")[2]]
            thread.messages.clear()
            await site.runtime.cancel(thread.runs[-1].id)
            record = page.locator("#record")
            await expect(record.locator("pre")).to_have_text(HOSTILE)
            await expect(record).to_contain_text("not in the record yet")
            await page.reload()
            await expect(record.locator("pre")).to_have_text(HOSTILE)

    run(scenario())


def test_what_is_hostile_does_nothing_live_or_reloaded() -> None:
    async def scenario() -> None:
        tool = [
            trace(TraceEvent.CALL, name="x", id="c", args={"a": HOSTILE}),
            trace(TraceEvent.LEAVE),
            trace(TraceEvent.RESULT, name="x", id="c", status="success", text=HOSTILE),
        ]
        async with opened(ScriptedRuntime([*tool, say(HOSTILE, message="m2"), HOLD])) as got:
            page, site, seen = got
            await send(page, HOSTILE)
            await expect(page.locator("#stream .answer")).to_contain_text("<script>")
            site.runtime.proceed(page.url.partition("#")[2])
            await expect(page.locator("#record .assistant .body")).to_contain_text("<script>")
            await page.reload()
            await expect(page.locator("#record .assistant .body")).to_contain_text("<script>")
            assert "owned" not in (await page.title()).split("–")[-1]
            assert await page.locator("main img, main style, main script").count() == 0
            assert all(url.startswith(str(site.http.base_url)) for url in seen.requests)
            assert seen.complaints == []

    run(scenario())


def test_a_failure_is_told_with_its_remedy_and_can_be_resumed() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([ModelUnreachable()], [say("Back.")])) as (page, _, __):
            await send(page, "Hi")
            problem = page.get_by_role("alert")
            await expect(problem).to_contain_text("MODEL_UNREACHABLE: The model server")
            await page.get_by_role("button", name="Resume").click()
            await expect(page.locator("#record")).to_contain_text("Back.")
            await expect(problem).to_be_hidden()
            await expect(page.get_by_role("button", name="Resume")).to_be_hidden()

    run(scenario())


def test_a_run_can_be_stopped() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([say("working"), HOLD])) as (page, _, __):
            await send(page, "Hi")
            await page.get_by_role("button", name="Stop").click()
            await expect(page.locator("header #status")).to_have_text("cancelled")
            await expect(page.get_by_role("button", name="Resume")).to_be_visible()

    run(scenario())


def test_a_run_that_waits_is_not_watched_and_can_be_stopped() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([say("may I?"), DECISION])) as (page, _, seen):
            await send(page, "Hi")
            await expect(page.get_by_role("alert")).to_contain_text("waits for a decision")
            await page.reload()
            await expect(page.get_by_role("alert")).to_contain_text("waits for a decision")
            watched = [url for url in seen.requests if "/api/chat?" in url]
            assert len(watched) <= 1
            await page.get_by_role("button", name="Stop").click()
            await expect(page.locator("header #status")).to_have_text("cancelled")

    run(scenario())


def test_another_conversation_never_shows_this_ones_tokens() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([HOLD, say("late")])) as (page, site, _):
            await send(page, "first")
            await expect(page.get_by_role("button", name="Stop")).to_be_visible()
            first = page.url.partition("#")[2]
            await page.get_by_role("button", name="New").click()
            await send(page, "second")
            await expect(page.locator("#title")).to_have_text("second")
            await site.runtime.watched_by(1)
            site.runtime.proceed(first)
            await expect(page.locator("#list a", has_text="first")).to_contain_text("completed")
            assert "late" not in await page.locator("main").inner_text()
            await page.locator("#list a", has_text="first").click()
            await expect(page.locator("#record")).to_contain_text("late")

    run(scenario())


def test_a_message_is_sent_once_however_often_enter_is_pressed() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([HOLD])) as (page, site, _):
            box = page.get_by_label("Message")
            await box.fill("line one")
            await box.press("Shift+Enter")
            await box.press_sequentially("line two")
            await asyncio.gather(*(box.press("Enter") for _ in range(5)))
            await expect(page.get_by_role("button", name="Stop")).to_be_visible()
            rows = (await site.http.get("/api/conversations")).json()["conversations"]
            assert [row["title"] for row in rows] == ["line one"]

    run(scenario())


def test_a_conversation_is_deleted_only_after_a_second_yes() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([say("ok")])) as (page, site, _):
            await send(page, "keep me")
            await expect(page.locator("#record")).to_contain_text("ok")
            await page.locator("#delete").click()
            await page.get_by_role("button", name="Keep it").click()
            assert len((await site.http.get("/api/conversations")).json()["conversations"]) == 1
            await page.locator("#delete").click()
            await page.locator("#confirm-yes").click()
            await expect(page.locator("#title")).to_have_text("New conversation")
            assert (await site.http.get("/api/conversations")).json()["conversations"] == []

    run(scenario())


def test_two_tabs_show_the_same_run() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([say("shared"), HOLD])) as (page, site, _):
            await send(page, "Hi")
            await expect(page.locator("#stream .answer")).to_have_text("shared")
            other = await page.context.new_page()
            await other.goto(page.url)
            await expect(other.locator("#stream .answer")).to_have_text("shared")
            site.runtime.proceed(page.url.partition("#")[2])
            for tab in (page, other):
                await expect(tab.locator("#record")).to_contain_text("shared")
                await expect(tab.locator("#live")).to_be_hidden()

    run(scenario())


def test_twenty_thousand_tokens_leave_the_page_usable() -> None:
    async def scenario() -> None:
        words = [say(f"w{n} " + ("\n" if n % 50 == 0 else "")) for n in range(20_000)]
        async with opened(ScriptedRuntime([*words, HOLD])) as (page, _, seen):
            await send(page, "much")
            await expect(page.locator("#stream")).to_contain_text("w19999", timeout=20_000)
            # Typing goes through the same thread as the tokens.
            await page.get_by_role("button", name="New").click()
            await expect(page.locator("#title")).to_have_text("New conversation")
            assert seen.complaints == []

    run(scenario())


def test_a_page_left_open_finds_the_server_again_after_a_restart() -> None:
    async def scenario() -> None:
        first = ScriptedRuntime([say("lost"), HOLD], [say("found")])
        async with AsyncExitStack() as stack:
            page, site, _ = await stack.enter_async_context(opened(first))
            await send(page, "Hi")
            await expect(page.locator("#stream .answer")).to_have_text("lost")
            await site.stop()
            await expect(page.locator("#connection")).to_contain_text("does not answer")
            await stack.enter_async_context(served(ScriptedRuntime(after=first), port=site.port))
            await expect(page.locator("header #status")).to_have_text("interrupted")
            await expect(page.locator("#connection")).to_be_hidden(timeout=20_000)
            await expect(page.get_by_role("alert")).to_contain_text("Resume goes on")
            await page.get_by_role("button", name="Resume").click()
            await expect(page.locator("#record")).to_contain_text("found")

    run(scenario())


def test_what_is_off_and_what_to_mend_stand_beside_the_list() -> None:
    async def scenario() -> None:
        off = Protections.without(Protection.DRAIN, Protection.RECONCILE)
        async with opened(ScriptedRuntime(ready=False, protections=off)) as (page, _, _):
            notice = page.locator("#notice")
            await expect(notice).to_contain_text("protections: off: DRAIN, RECONCILE")
            await expect(notice).to_contain_text("The model server does not answer.")

    run(scenario())


def test_a_server_that_is_whole_says_nothing_of_it() -> None:
    async def scenario() -> None:
        async with opened(ScriptedRuntime([say("Hello")])) as (page, _, seen):
            await send(page, "Hi")
            await expect(page.locator("#record")).to_contain_text("Hello")
            assert any(address.endswith("/api/readyz") for address in seen.requests)
            await expect(page.locator("#notice")).to_be_hidden()

    run(scenario())
