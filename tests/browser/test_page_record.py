"""What is on record, in a real browser: shown whole, left alone by a reload, and told from a stream."""

from __future__ import annotations

from page import Stage, Tab
from playwright.async_api import expect
from served import Site, say, trace

from sophos.errors import ModelFailed
from sophos.events import TraceEvent
from sophos.testing.thread import HOLD, Line

ARGS = {"url": "http://site.example/"}
CALL = trace(TraceEvent.CALL, name="site__fetch", id="c", args=ARGS)
RESULT = trace(TraceEvent.RESULT, name="site__fetch", id="c", status="error", text="gone")
TOOL = [CALL, trace(TraceEvent.LEAVE), RESULT]


def read(tab: Tab) -> list[str]:
    """From where on the checkpoints were asked for, each time."""
    return [url.partition("/checkpoints")[2] for url in tab.requests if "/checkpoints" in url]


def test_calls_and_results_are_folded_with_their_arguments(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Look")
        record = tab.at("#record")
        await expect(record.locator("article")).to_have_count(4)
        call, result = record.locator("details.call"), record.locator("details.result")
        await expect(call.locator("pre")).to_be_hidden()
        await call.locator("summary").click()
        await expect(call.locator("pre")).to_contain_text('"url": "http://site.example/"')
        await expect(result.locator("summary")).to_have_text(
            "Result of site__fetch: error 4 characters"
        )
        await expect(record.locator("article h2").last).to_have_text("Assistant message 4 · run 1")

    stage.play(scenario, [*TOOL, say("It is gone.", message="m2")])


def test_markdown_is_rendered_below_the_pages_own_headings(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Write")
        body = tab.at("#record .assistant .body")
        await expect(body.locator("h3")).to_have_text("Title")
        await expect(body.get_by_role("region", name="Table").locator("td")).to_have_count(2)
        assert await tab.at("h1").all_inner_texts() == ["Write"]

    stage.play(scenario, [say("# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")])


def test_a_block_of_code_can_be_copied(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Write")
        await tab.button("Copy the code").click()
        await expect(tab.button("Copy the code")).to_have_text("Copied")
        assert await tab.page.evaluate("navigator.clipboard.readText()") == "print('hi')\n"

    allowed = ["clipboard-read", "clipboard-write"]
    stage.play(scenario, [say("```python\nprint('hi')\n```")], permissions=allowed)


def test_without_the_clipboard_the_code_is_selected_to_be_copied(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.page.add_init_script(
            "Object.defineProperty(navigator, 'clipboard', { value: undefined })"
        )
        await tab.page.reload()
        await tab.send("Write")
        await tab.button("Copy the code").click()
        await expect(tab.button("Copy the code")).to_have_text("Selected: press Ctrl+C")
        assert await tab.page.evaluate("getSelection().toString()") == "print('hi')"

    stage.play(scenario, [say("```python\nprint('hi')\n```")])


def test_a_reload_of_the_record_takes_no_fold_and_no_focus_away(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Look")
        await tab.status("completed")
        summary = tab.at("#record details.call summary")
        await summary.click()
        await site.start("Again", conversation=conversation)
        await expect(tab.at("#record article")).to_have_count(8)
        await expect(tab.at("#record details.call pre").first).to_be_visible()
        await expect(tab.at("#record details.call summary").first).to_be_focused()

    stage.play(scenario, [*TOOL, say("It is gone.", message="m2")])


def test_what_was_kept_and_what_was_only_shown_can_be_compared(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Look")
        await expect(tab.at("#stream .reasoning")).to_be_visible()
        site.runtime.proceed(conversation)
        await tab.status("failed")
        await expect(tab.at("#after")).to_contain_text("10 characters of text were only shown")
        await tab.button("Stream against record").click()
        rows = tab.at("#against tbody tr")
        await expect(rows).to_have_text(
            [
                "reasoning, step 1Hm.Hm.✓ kept",
                'call site__fetch, step 1{"url":"http://site.example/"}the same call✓ kept',
                "result of site__fetch, step 1gonegone✓ kept",
                "answer, step 2half a rep–✗ only shown",
                "steps1 time enter, leave or resume, as it happened–✗ only shown",
            ]
        )

    cut = say("half a rep", message="m2", step=2)
    thought = say("Hm.", kind="reasoning")
    stage.play(scenario, [thought, HOLD, *TOOL, cut, ModelFailed()])


def test_in_a_run_of_three_steps_only_what_is_new_is_read_and_once(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = (await site.start("Before"))["conversation"]
        await tab.page.goto(f"{tab.base}/#{conversation}")
        await expect(tab.at("#identities .card").nth(3)).to_contain_text("2 checkpoints")
        await tab.send("Look")
        for known in (3, 4, 5, 6):
            await expect(tab.at("#identities .card").nth(3)).to_contain_text(f"{known} checkpoints")
            site.runtime.proceed(conversation)
        await expect(tab.at("#record article")).to_have_count(6)
        newest = [f"?since=checkpoint-{number}" for number in (1, 2, 3, 4, 5)]
        await expect(tab.at("#identities .card").nth(1)).to_contain_text("next is empty")
        assert read(tab)[:6] == ["", *newest]  # the last one says that it is over
        run = tab.at("#trace .run-trace").first
        steps = await run.inner_text()
        assert steps.startswith("Run 2: 4 steps")
        await tab.page.reload()
        await expect(run).to_have_text(steps, use_inner_text=True)

    ends = [trace(TraceEvent.LEAVE, step=step) for step in (3, 4, 5)]
    begins = [trace(TraceEvent.ENTER, step=step) for step in (3, 4, 5)]
    second: list[Line] = [begins[0], HOLD, CALL, ends[0], HOLD, begins[1], RESULT, ends[1], HOLD]
    stage.play(scenario, [say("ok")], [*second, begins[2], say("So."), ends[2], HOLD])


def test_a_page_that_heard_no_stream_says_so(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Hi")
        await tab.status("completed")
        await tab.page.reload()
        await tab.button("Stream against record").click()
        await expect(tab.at("#against")).to_contain_text("This page watched no run")

    stage.play(scenario, [say("ok")])


def test_what_was_accepted_and_did_not_reach_the_thread_is_still_shown(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Where am I?")
        thread = site.runtime.threads[conversation]
        thread.messages.clear()
        await site.runtime.cancel(thread.runs[-1].id)
        record = tab.at("#record")
        await expect(record).to_contain_text("not yet in the thread")
        await expect(tab.at("#state")).to_contain_text(
            "1 accepted message never reached the thread"
        )
        await tab.page.reload()
        await expect(record.locator("pre")).to_have_text("Where am I?")

    stage.play(scenario, [HOLD])


def test_a_reader_who_has_scrolled_up_is_left_there_while_it_streams(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Much")
        await expect(tab.at("#stream")).to_contain_text("line 199")
        scroller = tab.at("#scroller")
        await scroller.evaluate("node => (node.scrollTop = 100)")
        site.runtime.proceed(conversation)
        await expect(tab.at("#stream")).to_contain_text("line 399")
        assert await scroller.evaluate("node => node.scrollTop") == 100

    lines = [say(f"line {n}\n") for n in range(400)]
    stage.play(scenario, [*lines[:200], HOLD, *lines[200:], HOLD])


def test_a_reader_of_the_end_still_sees_it_when_a_notice_takes_room(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Much")
        await expect(tab.at("#stream")).to_contain_text("line 199")
        below = "node => node.scrollHeight - node.clientHeight - node.scrollTop"
        assert await tab.at("#scroller").evaluate(below) < 2
        await tab.page.context.set_offline(True)
        await tab.button("Stop").click()
        await expect(tab.at("#connection")).to_be_visible()
        await tab.page.evaluate("new Promise(requestAnimationFrame).then(() => {})")
        assert await tab.at("#scroller").evaluate(below) < 2

    stage.play(scenario, [*(say(f"line {n}\n") for n in range(200)), HOLD])
