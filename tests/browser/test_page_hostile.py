"""Whatever a model, a tool or a person wrote: the page runs none of it and loads nothing for it."""

from __future__ import annotations

import re
from typing import Any, Final

from page import Stage, Tab
from playwright.async_api import Route, expect
from served import Site, say, trace

from sophos.errors import ModelFailed
from sophos.events import TraceEvent
from sophos.testing.thread import HOLD, Line

HOSTILE: Final = (
    "<script>document.title='owned'</script><img src=http://evil.example/a.png onerror=alert(1)>"
    " ![p](http://evil.example/pixel.png) [j](javascript:alert(1)) <style>*{display:none}</style>"
    "<iframe src=http://evil.example></iframe><svg onload=alert(1)></svg>"
)
MADE_OF_IT: Final = ", ".join(
    f"body {name}" for name in ("script", "img", "style", "iframe", "svg", "[onerror]", "[onload]")
)
CALL: Final[dict[str, Any]] = {"name": HOSTILE, "id": HOSTILE, "args": {HOSTILE: [HOSTILE]}}
RESULT: Final[dict[str, Any]] = {"name": HOSTILE, "id": HOSTILE, "status": "error", "text": HOSTILE}
EVERY_FIELD: Final[list[Line]] = [
    say(HOSTILE, kind="reasoning"),
    trace(TraceEvent.NOTE, text=HOSTILE),
    trace(TraceEvent.CALL, **CALL),
    trace(TraceEvent.LEAVE),
    trace(TraceEvent.RESULT, **RESULT),
    say(HOSTILE, message="m2", step=2),
    trace(TraceEvent.LEAVE, step=2),
]


async def unfold_all(tab: Tab) -> None:
    await tab.page.evaluate(
        "document.querySelectorAll('details').forEach((fold) => (fold.open = true))"
    )


async def inert(tab: Tab) -> None:
    """Everything is open to see, and none of it came to life."""
    await unfold_all(tab)
    assert await tab.at(MADE_OF_IT).count() == 0
    assert await tab.at("a[href^='javascript']").count() == 0
    await expect(tab.page).to_have_title(re.compile(r"^<script>document\.title="))  # once read
    assert all(url.startswith(tab.base) for url in tab.requests)
    assert tab.complaints == []


def test_what_is_hostile_does_nothing_live(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send(HOSTILE)
        await expect(tab.at("#stream .answer")).to_have_text(HOSTILE)
        await expect(tab.at("#stream .reasoning .text")).to_have_text(HOSTILE)
        await expect(tab.at("#trace")).to_contain_text(HOSTILE)
        await inert(tab)

    stage.play(scenario, [*EVERY_FIELD, HOLD])


def test_what_is_hostile_does_nothing_on_record(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send(HOSTILE)
        await expect(tab.at("#stream")).to_contain_text(HOSTILE)
        site.runtime.proceed(conversation)
        await expect(tab.at("#state")).to_contain_text(f"MODEL_FAILED: {HOSTILE}")
        await tab.button("Stream against record").click()
        await tab.at(".chip").click()
        await inert(tab)
        await tab.page.reload()
        record = tab.at("#record")
        await expect(record.locator(".user pre")).to_have_text(HOSTILE)
        await expect(record.locator(".assistant .reasoning pre")).to_have_text(HOSTILE)
        await expect(record.locator(".tool pre")).to_have_text(HOSTILE)
        await expect(record.locator(".assistant .body")).to_contain_text("<script>")
        await tab.page.get_by_role("button", name="Delete <script>").click()
        await expect(tab.at("#confirm")).to_contain_text("<script>")
        await inert(tab)

    stage.play(scenario, [*EVERY_FIELD, HOLD, ModelFailed(HOSTILE)])


def test_even_html_that_the_server_let_through_would_run_nothing(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = (await site.start("Hi"))["conversation"]

        async def let_through(route: Route) -> None:
            answer = await route.fetch()
            body = await answer.json()
            body["messages"][-1]["html"] = (
                "<b>seen</b><img src=x onerror=\"document.title='owned'\"><script>1</script>"
            )
            await route.fulfill(response=answer, json=body)

        await tab.page.route("**/api/conversations/*?render=html", let_through)
        await tab.page.goto(f"{tab.base}/#{conversation}")
        await expect(tab.at("#record b")).to_have_text("seen")
        await expect(tab.page).to_have_title("Hi – Sophos")
        assert any("Content Security Policy" in complaint for complaint in tab.complaints)

    stage.play(scenario, [say("ok")])


def test_the_page_lives_under_any_path_and_asks_for_nothing_beside_it(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        prefix = f"{tab.base}/hub/user/me"

        async def behind_a_proxy(route: Route) -> None:
            await route.continue_(url=route.request.url.replace(prefix, tab.base))

        await tab.page.route(f"{prefix}/**", behind_a_proxy)
        await tab.page.goto("about:blank")  # the page at the root asks for nothing more
        tab.requests.clear()
        await tab.page.goto(f"{prefix}/")
        await tab.send("Hi")
        await tab.status("completed")
        await tab.button("New chat").click()
        await expect(tab.at("#title")).to_have_text("New conversation")
        assert tab.page.url == f"{prefix}/"
        await tab.page.get_by_role("link", name="API").click()
        await expect(tab.at("h1")).to_have_text("The API")
        assert all(url.startswith(f"{prefix}/") for url in tab.requests)

    stage.play(scenario, [say("ok")])
