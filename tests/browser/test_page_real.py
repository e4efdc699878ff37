"""The page on a real server: the same trace live and reloaded, and what a kill does to an open page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest
from page import Stage, Tab
from playwright.async_api import expect
from toolboxes import configure, small

from lab.bench import Bench
from lab.model.script import call, say, think

ADD: Final[list[Any]] = [think("I add it."), call("lab__add", text="one")]
TRACE: Final = "#trace .step > ul > li, #trace .step > summary"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench("page", model="scripted", root=tmp_path_factory.mktemp("lab")) as bench:
        configure(bench.workspace.config, {"lab": small(bench.workspace.directory / "journal")})
        _ = bench.client
        yield bench
        bench.model.close()


@pytest.fixture
def bench(running: Bench) -> Bench:
    running.model.release()
    running.model.script([])
    return running


async def restart(bench: Bench, port: str) -> None:
    await asyncio.to_thread(bench.sophos.start, port=int(port))


def port_of(tab: Tab) -> str:
    return tab.base.rpartition(":")[2]


def test_the_trace_is_the_same_live_and_read_from_the_checkpoints(
    stage: Stage, bench: Bench
) -> None:
    async def scenario(tab: Tab) -> None:
        await tab.send("Add one")
        await tab.status("completed")
        events = tab.at("#trace .step .event")
        await expect(events).to_have_text(
            [
                *("saved", "saved", "enter", "leave"),
                *("enter", "call", "result", "leave"),
                *("enter", "leave"),
            ]
        )
        await expect(tab.at("#identities .card").nth(3)).to_contain_text("5 checkpoints")
        lines = await tab.at(TRACE).all_inner_texts()
        assert lines[0] == "step −1 input ✓ on record"
        await tab.page.reload()
        await expect(tab.at(TRACE)).to_have_text(lines, use_inner_text=True)

    bench.model.script([ADD, [say("Done.")]])
    stage.visit(bench.sophos.url, scenario)


def test_steps_are_traced_while_they_happen(stage: Stage, bench: Bench) -> None:
    async def scenario(tab: Tab) -> None:
        await tab.send("Add one")
        steps = tab.at("#trace .step > summary")
        await expect(steps).to_have_text(
            [
                *("step −1 input ✓ on record", "step 0 input ✓ on record"),
                *("step 1 agent ✓ on record", "step 2 tools ✓ on record"),
                "step 3 agent ● live",
            ],
            use_inner_text=True,
        )
        cards = tab.at("#identities .card")
        await expect(cards.nth(0)).to_contain_text("3 messages")
        await expect(cards.nth(1)).to_contain_text("next: agentowed: 0")
        await expect(cards.nth(3)).to_contain_text("4 checkpointsnewest step 2")
        call = tab.at("#trace [data-event=call] details")
        await call.locator("summary").click()
        await expect(call.locator("pre")).to_contain_text('"text": "one"')
        await asyncio.to_thread(bench.model.release)
        await expect(steps.last).to_have_text("step 3 agent ✓ on record")
        await expect(call.locator("pre")).to_be_visible()

    bench.model.script([call("lab__add", text="one"), [say("It is done, all of it.")]])
    bench.model.hold(2)
    stage.visit(bench.sophos.url, scenario)


def test_a_page_survives_the_kill_of_its_server_and_tells_what_was_lost(
    stage: Stage, bench: Bench
) -> None:
    async def scenario(tab: Tab) -> None:
        await tab.send("Go on")
        await expect(tab.at("#stream .answer")).to_contain_text("one two")
        first = bench.sophos.boot_id
        await asyncio.to_thread(bench.sophos.kill)
        await expect(tab.at("#connection")).to_be_visible()
        await expect(tab.at("#stream .answer")).to_contain_text("one two")
        await asyncio.to_thread(bench.model.release)
        bench.model.script([say("one two three four")])
        await restart(bench, port_of(tab))
        await tab.status("interrupted")
        await expect(tab.at("#after")).to_contain_text("of text were only shown")
        await expect(tab.at("#state")).to_contain_text("Work is left: next is agent.")
        await expect(tab.at("#connection-facts")).to_contain_text(f"restarted; before: {first[:8]}")
        await tab.button("Resume").click()
        await tab.status("completed")
        await expect(tab.at("#record article")).to_have_count(2)
        await expect(tab.at("#record .assistant .body")).to_have_text("one two three four")
        await tab.at(".chip").first.click()
        await expect(tab.at("#run-detail")).to_contain_text("an earlier one")

    bench.model.script([say("one two three four")])
    bench.model.hold(2)
    stage.visit(bench.sophos.url, scenario)


def test_a_message_killed_before_its_thread_is_shown_and_resumed(
    stage: Stage, bench: Bench
) -> None:
    async def scenario(tab: Tab) -> None:
        await asyncio.to_thread(bench.sophos.stop)
        bench.sophos.fail_at("run.recorded")
        await restart(bench, port_of(tab))
        await tab.box.fill("Do not lose me")
        await tab.box.press("Enter")
        await asyncio.to_thread(bench.sophos.wait_for, "run.recorded")
        await restart(bench, port_of(tab))
        await tab.at("#list a", has_text="Do not lose me").click()
        await expect(tab.at("#record")).to_contain_text("not yet in the thread")
        await expect(tab.at("#state")).to_contain_text("1 accepted message never reached")
        bench.model.script([say("Here.")])
        await tab.button("Resume").click()
        await tab.status("completed")
        await expect(tab.at("#record article .body")).to_have_text(["Do not lose me", "Here."])

    stage.visit(bench.sophos.url, scenario)


def test_a_frozen_server_keeps_the_page_waiting_and_no_more(stage: Stage, bench: Bench) -> None:
    async def scenario(tab: Tab) -> None:
        await tab.send("Go on")
        await expect(tab.at("#stream .answer")).to_contain_text("one two")
        bench.sophos.freeze()
        try:
            await tab.button("New chat").click()
            await expect(tab.at("#title")).to_have_text("New conversation")
            await tab.at("#list a", has_text="Go on").first.click()
            await asyncio.to_thread(bench.model.release)
        finally:
            bench.sophos.thaw()
        await tab.status("completed")
        await expect(tab.at("#record .assistant .body")).to_have_text("one two three four")

    bench.model.script([say("one two three four")])
    bench.model.hold(2)
    stage.visit(bench.sophos.url, scenario)
