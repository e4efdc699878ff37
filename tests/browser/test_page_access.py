"""The page for everybody: by keyboard, by ear, large, narrow, light and dark."""

from __future__ import annotations

from typing import Any, Final, Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from page import Stage, Tab
from playwright.async_api import expect
from served import Site, say, trace

from sophos.errors import ModelUnreachable
from sophos.events import TraceEvent
from sophos.testing.thread import HOLD, Line

RULES: Final = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
}
CALL: Final[dict[str, Any]] = {"id": "c", "args": {"url": "http://site.example/"}}
STORY: Final[list[Line]] = [
    trace(TraceEvent.ENTER),
    say("Hm.", kind="reasoning"),
    say("I will *look*."),
    trace(TraceEvent.CALL, name="site__fetch", **CALL),
    trace(TraceEvent.LEAVE),
    HOLD,
    trace(TraceEvent.RESULT, name="site__fetch", id="c", status="error", text="gone"),
    say("# So\n\n> `it` is\n\n```\ncode\n```\n\n| a |\n|---|\n| 1 |\n", message="m2", step=3),
    trace(TraceEvent.LEAVE, step=3),
    say("half", message="m3", step=4),
    ModelUnreachable(),
]
FOCUSABLE: Final = (
    "[...document.querySelectorAll('a[href], button, textarea, summary, [tabindex=\"0\"]')]"
    ".filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.disabled)"
)


async def accessible(tab: Tab) -> None:
    """No rule of axe is broken. The policy is bypassed for it to be injected, and for nothing else."""
    results = await Axe().run(tab.page, options=RULES)
    broken = [
        (found["id"], node["target"], node["failureSummary"])
        for found in results.response["violations"]
        for node in found["nodes"]
    ]
    assert broken == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_no_state_of_the_page_keeps_anybody_out(
    stage: Stage, scheme: Literal["light", "dark"], width: int
) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        await accessible(tab)
        conversation = await tab.send("Look")
        await expect(tab.at("#stream .trace")).to_have_count(3)
        await tab.at("#stream .reasoning summary").click()
        await accessible(tab)
        site.runtime.proceed(conversation)
        await tab.status("failed")
        await tab.at(".chip").click()
        await tab.button("Stream against record").click()
        await accessible(tab)
        if width < 1000:
            await tab.button("Runtime").click()
            await accessible(tab)
            return
        await tab.button("Delete Look").click()
        await accessible(tab)
        await tab.page.context.set_offline(offline=True)
        await tab.button("Delete").click()
        await expect(tab.at("#connection")).to_be_visible()
        await accessible(tab)

    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    stage.play(scenario, STORY, bypass_csp=True, **options)


def test_whatever_can_be_clicked_is_reached_by_the_keyboard(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        site.runtime.proceed(await tab.send("Look"))
        await tab.status("failed")
        await expect(tab.at("#identities")).to_contain_text("4 checkpoints")  # all is there
        await tab.page.evaluate("document.activeElement.blur(); window.reached = new Set()")
        wanted = await tab.page.evaluate(f"{FOCUSABLE}.length")
        for _ in range(wanted + 2):
            await tab.page.keyboard.press("Tab")
            await tab.page.evaluate("reached.add(document.activeElement)")
        missed = await tab.page.evaluate(
            f"{FOCUSABLE}.filter((node) => !reached.has(node)).map((node) => node.outerHTML)"
        )
        assert missed == []

    stage.play(scenario, STORY)


FOCUSED_BEFORE_ANYTHING_IS_DRAWN: Final = """
new MutationObserver((_, observer) => {
  if (!document.getElementById("announcer")) return; // the last element: all of the page is there
  document.getElementById("message").focus();
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""


def test_a_page_that_is_ready_before_it_is_drawn_gives_the_browser_no_cause_to_complain(
    stage: Stage,
) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.page.add_init_script(FOCUSED_BEFORE_ANYTHING_IS_DRAWN)
        await tab.page.reload()
        await expect(tab.box).to_be_focused()
        await tab.page.evaluate("new Promise(requestAnimationFrame).then(() => {})")
        assert tab.complaints == []

    stage.play(scenario)


def test_what_happens_is_told_by_ear_and_tokens_are_not(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Look")
        announcer = tab.at("#announcer")
        await expect(announcer).to_have_text("Calls site__fetch.")
        live = "[aria-live], [role=status], [role=alert], [role=log]"
        assert await tab.at(live).filter(has=tab.at("#stream")).count() == 0
        site.runtime.proceed(conversation)
        await expect(announcer).to_have_text("Run failed.")

    stage.play(scenario, STORY)


def test_at_the_size_of_a_projector_everything_is_in_sight(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Look")
        for part in ("#sidebar", "#strip", "#scroller", "#composer", "#panel"):
            await expect(tab.at(part)).to_be_in_viewport(ratio=1)
        box = await tab.at("#scroller").bounding_box()
        assert box is not None
        assert box["height"] > 350
        assert box["width"] > 400

    stage.play(scenario, STORY, viewport={"width": 1024, "height": 768})


@pytest.mark.parametrize(("width", "height"), [(512, 384), (360, 740)])
def test_at_twice_the_size_nothing_is_cut_off(stage: Stage, width: int, height: int) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        site.runtime.proceed(await tab.send("Look"))
        await tab.status("failed")
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= width
        for name in ("Runtime", "Conversations", "Resume", "Send"):
            await tab.button(name).scroll_into_view_if_needed()
            await expect(tab.button(name)).to_be_in_viewport(ratio=1)

    stage.play(scenario, STORY, viewport={"width": width, "height": height})


def test_where_there_is_little_room_the_sides_lie_over_the_middle_and_go_away(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Look")
        await tab.button("Runtime").click()
        await expect(tab.at("#identities")).to_be_visible()
        await tab.at("#panel .close").click()
        await expect(tab.at("#panel")).to_be_hidden()
        await expect(tab.button("Runtime")).to_be_focused()
        await tab.button("Conversations").click()
        await tab.at("#list a").focus()
        await tab.page.keyboard.press("Escape")
        await expect(tab.at("#sidebar")).to_be_hidden()
        await expect(tab.button("Conversations")).to_be_focused()
        await tab.button("Conversations").click()
        await tab.button("New chat").click()
        await expect(tab.at("#sidebar")).to_be_hidden()
        await expect(tab.box).to_be_focused()

    stage.play(scenario, [HOLD], viewport={"width": 400, "height": 800})


def test_text_alone_at_twice_the_size_still_fits(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        await tab.page.evaluate("document.documentElement.style.fontSize = '200%'")
        site.runtime.proceed(await tab.send("Look"))
        await tab.status("failed")
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= 1280
        for part in ("main > header", "#strip", "#composer", "#panel", "#sidebar"):
            wider = "node => node.scrollWidth - node.clientWidth"
            assert await tab.at(part).evaluate(wider) <= 0, part
        await expect(tab.button("Send")).to_be_in_viewport(ratio=1)

    stage.play(scenario, STORY, viewport={"width": 1280, "height": 900})


def test_nothing_jumps_while_it_streams(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Much")
        await expect(tab.at("#stream")).to_contain_text("line 99")
        frames = (
            "['main > header', '#strip', '#composer', '#panel'].map("
            "(part) => JSON.stringify(document.querySelector(part).getBoundingClientRect()))"
        )
        before = await tab.page.evaluate(frames)
        await tab.page.evaluate(
            "window.shifts = []; new PerformanceObserver((list) => shifts.push(...list.getEntries()"
            ".map(({ value }) => value))).observe({ type: 'layout-shift' })"
        )
        site.runtime.proceed(conversation)
        await expect(tab.at("#stream")).to_contain_text("line 199")
        assert await tab.page.evaluate(frames) == before
        assert await tab.page.evaluate("shifts") == []

    lines = [say(f"line {n}\n") for n in range(200)]
    stage.play(scenario, [*lines[:100], HOLD, *lines[100:], HOLD])


def test_light_and_dark_can_be_chosen_and_stay_so(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        colour = "getComputedStyle(document.body).backgroundColor"
        light = await tab.page.evaluate(colour)
        await tab.button("Theme: auto").click()
        await tab.button("Theme: light").click()
        await tab.page.reload()
        await expect(tab.button("Theme: dark")).to_be_visible()
        assert await tab.page.evaluate(colour) != light

    stage.play(scenario, color_scheme="light")
