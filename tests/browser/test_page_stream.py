"""What is streamed, in a real browser: shown apart, once, whole, and never in another's place."""

from __future__ import annotations

import asyncio

import pytest
from page import Stage, Tab, rows
from playwright.async_api import Route, expect
from served import Site, say, trace

from sophos.events import TraceEvent
from sophos.testing.thread import HOLD


def test_tokens_are_watched_and_then_the_record_is_read(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        live, record = tab.at("#live"), tab.at("#record")
        await expect(live.locator(".answer")).to_have_text("Hel")
        await expect(record).to_contain_text("Hi")
        site.runtime.proceed(conversation)
        await expect(live.locator(".answer")).to_have_text("Hello *you*")
        assert "Hello" not in await record.inner_text()
        site.runtime.proceed(conversation)
        await expect(record.locator("em")).to_have_text("you")
        await expect(live).to_be_hidden()
        await expect(tab.at("#list .status")).to_have_text("✓ completed")

    stage.play(scenario, [say("Hel"), HOLD, say("lo *you*"), HOLD])


def test_reasoning_is_folded_and_marked_as_not_on_record_until_it_is(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        thought = tab.at("#stream .reasoning")
        await expect(thought.locator("summary")).to_contain_text("streamed, not on record")
        await expect(thought.locator(".text")).to_be_hidden()
        await thought.locator("summary").click()
        await expect(thought.locator(".text")).to_have_text("Hm.")
        site.runtime.proceed(conversation)
        kept = tab.at("#record .reasoning")
        await expect(kept.locator("summary")).to_contain_text("on record, apart from the answer")
        await expect(kept.locator("pre")).to_be_hidden()

    stage.play(scenario, [say("Hm.", kind="reasoning"), HOLD, say("So.")])


def test_a_reload_in_mid_stream_loses_nothing_and_tells_nothing_twice(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        await expect(tab.at("#stream .answer")).to_have_text("one")
        await tab.page.reload()
        await expect(tab.at("#stream .answer")).to_have_text("one")
        site.runtime.proceed(conversation)
        await expect(tab.at("#stream .answer")).to_have_text(["one", " two"])
        shown = await tab.at("#scroller").inner_text()
        assert (shown.count("one"), shown.count("Hi")) == (1, 1)

    one, two = say("one"), say(" two", message="m2", step=2)
    stage.play(scenario, [one, trace(TraceEvent.LEAVE), HOLD, two, HOLD])


GAP = 'event: gap\ndata: {"reload": true}\n\n'
TOKEN = 'event: token\nid: %s:%d\ndata: {"text": "%s", "kind": "answer", "step": 1, "message_id": "m1"}\n\n'


@pytest.mark.parametrize(
    "told",
    [
        pytest.param([GAP], id="a gap"),
        pytest.param([(2, " two")], id="a hole"),
        pytest.param([(1, "one"), (1, "one")], id="a double"),
        pytest.param([(1, "one"), GAP], id="a gap later on"),
    ],
)
def test_no_fault_of_a_stream_is_seen_in_what_is_shown(
    stage: Stage, told: list[str | tuple[int, str]]
) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = (await site.start("Hi"))["conversation"]
        run = site.runtime.threads[conversation].runs[0].id
        events = [event if isinstance(event, str) else TOKEN % (run, *event) for event in told]

        async def faulty_once(route: Route) -> None:
            await route.fulfill(content_type="text/event-stream", body="".join(events))

        await tab.page.route("**/api/chat?*", faulty_once, times=1)
        await tab.page.goto(f"{tab.base}/#{conversation}")
        await expect(tab.at("#stream")).to_have_text("one twostep 1 leave agent: on record")
        assert await tab.at("#record article").count() == 1

    leaves = trace(TraceEvent.LEAVE)
    stage.play(scenario, [say("one"), say(" two"), leaves, HOLD])


def test_a_page_that_is_closed_and_opened_again_has_it_all(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        await expect(tab.at("#stream .answer")).to_have_text("first")
        address, context = tab.page.url, tab.page.context
        await tab.page.close()
        site.runtime.proceed(conversation)
        page = await context.new_page()
        await page.goto(address)
        await expect(page.locator("#stream .answer")).to_have_text("first second")

    stage.play(scenario, [say("first"), HOLD, say(" second"), HOLD])


def test_two_tabs_show_the_same_run(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        other = await tab.page.context.new_page()
        await other.goto(tab.page.url)
        for page in (tab.page, other):
            await expect(page.locator("#stream .answer")).to_have_text("shared")
        site.runtime.proceed(conversation)
        for page in (tab.page, other):
            await expect(page.locator("#record")).to_contain_text("shared")
            await expect(page.locator("#live")).to_be_hidden()

    stage.play(scenario, [say("shared"), HOLD])


def test_what_one_tab_starts_and_deletes_another_sees(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        other = await tab.page.context.new_page()
        await other.goto(tab.base)
        await tab.send("from the first")
        await expect(other.locator("#list a")).to_contain_text("from the first")
        await tab.page.get_by_role("button", name="Delete from the first").click()
        await tab.button("Delete").click()
        await expect(other.locator("#list a")).to_have_count(0)

    stage.play(scenario, [say("ok")])


def test_what_another_tab_has_deleted_is_shown_no_longer(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("from the first")
        await tab.status("completed")
        other = await tab.page.context.new_page()
        await other.goto(tab.page.url)
        await expect(other.locator("#record article")).to_have_count(2)
        await other.get_by_label("Message", exact=True).fill("half a thought")
        await tab.page.get_by_role("button", name="Delete from the first").click()
        await tab.button("Delete").click()
        await expect(other.locator("#problem")).to_contain_text("It may have been deleted")
        await expect(other.locator("#record article")).to_have_count(0)
        await expect(other).to_have_title("Sophos")
        await expect(other.get_by_label("Message", exact=True)).to_have_value("half a thought")

    stage.play(scenario, [say("ok")])


def test_another_conversation_never_shows_this_ones_tokens(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        first = await tab.send("first")
        await tab.button("New chat").click()
        await tab.send("second")
        site.runtime.proceed(first)
        await expect(tab.at("#list li", has_text="first")).to_contain_text("completed")
        assert "late" not in await tab.at("main").inner_text()
        await tab.at("#list a", has_text="first").click()
        await expect(tab.at("#record")).to_contain_text("late")

    stage.play(scenario, [HOLD, say("late")])


def test_a_switch_there_and_back_in_mid_stream_goes_on_where_it_was(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        first = await tab.send("first")
        await expect(tab.at("#stream .answer")).to_have_text("a")
        await tab.button("New chat").click()
        await expect(tab.at("#title")).to_have_text("New conversation")
        await tab.at("#list a").click()
        await expect(tab.at("#stream .answer")).to_have_text("a")
        site.runtime.proceed(first)
        await expect(tab.at("#stream .answer")).to_have_text("ab")
        watched = [url for url in tab.requests if "api/chat?" in url]
        assert [url.partition("last_event_id=")[2][-2:] for url in watched] == ["", ":1"]

    stage.play(scenario, [say("a"), HOLD, say("b"), HOLD])


def test_a_message_is_sent_once_however_often_enter_is_pressed(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        await tab.box.fill("line one")
        await tab.box.press("Shift+Enter")
        await tab.box.press_sequentially("line two")
        await asyncio.gather(*(tab.box.press("Enter") for _ in range(5)))
        await expect(tab.button("Stop")).to_be_visible()
        assert [row["title"] for row in await rows(site)] == ["line one"]
        await expect(tab.box).to_have_value("")

    stage.play(scenario, [HOLD])


def test_a_text_that_was_not_sent_is_still_there_after_a_look_elsewhere(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("first")
        await tab.box.fill("half a thought")
        await tab.button("New chat").click()
        await expect(tab.box).to_have_value("")
        await tab.at("#list a").click()
        await expect(tab.box).to_have_value("half a thought")

    stage.play(scenario, [say("ok")])


def test_twenty_thousand_tokens_are_all_shown_and_the_page_is_usable(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("much")
        await expect(tab.at("#stream")).to_contain_text("w19999")
        heard = await tab.at("#stream .answer").evaluate_all(
            "nodes => nodes.map((node) => node.textContent).join('')"
        )
        assert len(heard.split()) == 20_000
        site.runtime.proceed(conversation)
        await expect(tab.at("#record")).to_contain_text("w19999")
        await tab.button("New chat").click()
        await expect(tab.at("#title")).to_have_text("New conversation")
        assert tab.complaints == []

    words = [say(f"w{n} " + ("\n" if n % 50 == 0 else "")) for n in range(20_000)]
    stage.play(scenario, [*words, HOLD])


def test_five_hundred_messages_are_all_there(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = (await site.start("0"))["conversation"]
        for turn in range(1, 250):
            await site.start(str(turn), conversation=conversation)
        await tab.page.goto(f"{tab.base}/#{conversation}")
        await expect(tab.at("#record article")).to_have_count(500)
        await expect(tab.at("#record article").last).to_be_in_viewport()
        await expect(tab.at(".chip")).to_have_count(250)

    stage.play(scenario, [say("ok")])
