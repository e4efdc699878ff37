"""Runs in a real browser: every attempt, why one can be resumed, and what this server is."""

from __future__ import annotations

from page import Stage, Tab, rows
from playwright.async_api import expect
from served import Site, say

from sophos.errors import ModelUnreachable
from sophos.protections import Protection, Protections
from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import DECISION, HOLD

FAILS_ONCE = ([ModelUnreachable()], [say("Back.")])


def test_a_failure_is_told_with_its_remedy_and_can_be_resumed(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Hi")
        state = tab.at("#state")
        await expect(state).to_contain_text("MODEL_UNREACHABLE: The model server does not answer.")
        await expect(state).to_contain_text("Work is left: next is agent.")
        await tab.button("Resume").click()
        await expect(tab.at("#record")).to_contain_text("Back.")
        await expect(state).to_have_text(
            "Nothing is left to do: next is empty, and no message is owed."
        )
        await expect(tab.button("Resume")).to_be_hidden()
        await expect(tab.box).to_be_focused()

    stage.play(scenario, *FAILS_ONCE)


def test_every_attempt_is_in_the_strip_and_tells_its_story(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        await tab.button("Resume").click()
        await tab.status("completed")
        chips = tab.at(".chip")
        await expect(chips.nth(0)).to_have_text("Run 1 ✗ failed1.0 s · MODEL_UNREACHABLE · step 0")
        await expect(chips.nth(1)).to_have_text("Run 2 ✓ completed1.0 s · step 1")
        await chips.nth(1).click()
        detail = tab.at("#run-detail")
        await expect(detail).to_contain_text("a resume of run 1")
        newest = site.runtime.threads[conversation].runs[-1]
        await expect(detail.get_by_role("button", name=newest.id)).to_have_text(newest.id[:8])
        await chips.nth(1).click()
        await expect(detail).to_be_hidden()
        await site.start("Again", conversation=conversation)
        await expect(chips).to_have_count(3)
        await chips.nth(0).click()
        await expect(chips).to_have_count(3)

    stage.play(scenario, *FAILS_ONCE)


def test_a_run_can_be_stopped(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Hi")
        await expect(tab.at("#stream")).to_have_text("working")
        await tab.button("Stop").click()
        await tab.status("cancelled")
        await expect(tab.button("Resume")).to_be_visible()
        await expect(tab.box).to_be_focused()

    stage.play(scenario, [say("working"), HOLD])


def test_a_run_that_waits_is_not_watched_and_can_be_stopped(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Hi")
        await expect(tab.at("#state")).to_contain_text("waits for a decision")
        await tab.page.reload()
        await expect(tab.at("#state")).to_contain_text("waits for a decision")
        assert len([url for url in tab.requests if "api/chat?" in url]) <= 1
        await tab.button("Stop").click()
        await tab.status("cancelled")

    stage.play(scenario, [say("may I?"), DECISION])


def test_the_four_identities_stand_side_by_side_and_count_along(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        cards = tab.at("#identities .card")
        await expect(cards.locator("h3")).to_have_text(
            ["Conversation", "Thread", "Runs", "Checkpoints"]
        )
        names = [conversation[:8]] * 2 + [site.runtime.threads[conversation].runs[0].id[:8]]
        await expect(cards.locator(".id")).to_have_text([*names, "checkpoint-0"])
        await expect(cards.nth(3)).to_contain_text("1 checkpoint")
        facts = tab.at("#connection-facts")
        await expect(facts).to_contain_text("connectionlive")
        await expect(facts).to_contain_text(f"last event id{names[2]}:1")
        site.runtime.proceed(conversation)
        await expect(cards.nth(3)).to_contain_text("2 checkpoints")
        await expect(facts).to_contain_text("connectionended")
        await expect(facts).to_contain_text("boot idboot")

    stage.play(scenario, [say("one"), HOLD])


def test_what_is_off_and_what_to_mend_is_told(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        notice = tab.at("#notice")
        await expect(notice).to_contain_text("protections: off: DRAIN, RECONCILE")
        await expect(notice).to_contain_text("The model server does not answer.")
        await expect(tab.at("#connection-facts .warned")).to_contain_text("DRAIN, RECONCILE")

    off = Protections.without(Protection.DRAIN, Protection.RECONCILE)
    stage.play_on(ScriptedRuntime(ready=False, protections=off), scenario)


def test_a_server_that_is_whole_says_nothing_of_it(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await expect(tab.at("#connection-facts")).to_contain_text("protections offnone")
        await expect(tab.at("#notice")).to_be_hidden()

    stage.play(scenario)


def test_the_list_tells_state_size_and_time_and_goes_on_past_a_page(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        for number in range(60):
            await site.start(f"chat {number}")
        await tab.page.reload()
        items = tab.at("#list li")
        await expect(items).to_have_count(50)
        await expect(items.first.locator("a")).to_contain_text("chat 59✓ completed 2 messages ")
        updated = (await rows(site))[0]["updated_at"]
        await expect(items.first.locator("time")).to_have_attribute("datetime", updated)
        await tab.button("Older").click()
        await expect(items).to_have_count(60)
        await expect(items.last).to_contain_text("chat 0")
        await expect(tab.button("Older")).to_be_hidden()

    stage.play(scenario, [say("ok")])


def test_the_list_counts_no_messages_before_their_number_is_known(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        link = tab.at("#list a")
        await expect(link).to_contain_text("Hi● running")
        assert "message" not in await link.inner_text()
        site.runtime.proceed(conversation)
        await expect(link).to_contain_text("Hi✓ completed 2 messages ")

    stage.play(scenario, [HOLD, say("ok")])


def test_a_conversation_is_deleted_only_after_a_second_yes(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        await tab.send("keep me")
        await tab.status("completed")
        await tab.button("Delete keep me").click()
        await expect(tab.button("Keep it")).to_be_focused()
        await tab.button("Keep it").click()
        assert len(await rows(site)) == 1
        await tab.button("Delete keep me").click()
        await tab.button("Delete").click()
        await expect(tab.at("#title")).to_have_text("New conversation")
        await expect(tab.at("#list li")).to_have_count(0)
        assert await rows(site) == []

    stage.play(scenario, [say("ok")])


def test_a_conversation_with_an_active_run_is_not_deleted_and_why_is_told(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        await tab.send("busy")
        await tab.button("Delete busy").click()
        await tab.button("Delete").click()
        await expect(tab.page.get_by_role("alert")).to_contain_text("SESSION_IN_PROGRESS: A run is")
        assert len(await rows(site)) == 1

    stage.play(scenario, [HOLD])


def test_an_address_with_an_id_opens_that_conversation(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        one, two = [(await site.start(text))["conversation"] for text in ("one", "two")]
        await tab.page.goto(f"{tab.base}/#{one}")
        await expect(tab.at("#title")).to_have_text("one")
        await tab.page.goto(f"{tab.base}/#{two}")
        await expect(tab.at("#title")).to_have_text("two")
        await tab.page.go_back()
        await expect(tab.at("#title")).to_have_text("one")
        await tab.page.goto(f"{tab.base}/#00000000-0000-4000-8000-000000000000")
        await expect(tab.page.get_by_role("alert")).to_contain_text("NOT_FOUND: There is nothing")

    stage.play(scenario, [say("ok")])
