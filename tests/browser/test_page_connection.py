"""The page while its server is away: it says so, loses nothing, and finds it again."""

from __future__ import annotations

from contextlib import AsyncExitStack

from page import Stage, Tab, rows
from playwright.async_api import Route, expect
from served import Site, say, served

from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD


def test_a_page_left_open_finds_the_server_again_after_a_restart(stage: Stage) -> None:
    first = ScriptedRuntime([say("lost"), HOLD], [say("found")])

    async def scenario(tab: Tab, site: Site) -> None:
        await tab.send("Hi")
        await expect(tab.at("#stream .answer")).to_have_text("lost")
        await site.stop()
        await expect(tab.at("#connection")).to_contain_text("The server does not answer.")
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(served(ScriptedRuntime(after=first), port=site.port))
            await tab.status("interrupted")
            await expect(tab.at("#connection")).to_be_hidden()
            await expect(tab.at("#after")).to_contain_text("4 characters of text were only shown")
            await tab.button("Resume").click()
            await expect(tab.at("#record")).to_contain_text("found")
            await tab.page.goto("about:blank")

    stage.play_on(first, scenario)


def test_the_server_is_asked_less_and_less_often_until_it_answers(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        await tab.send("Hi")
        await site.stop()
        for tried in ("(try 1, after 0.5 s)", "(try 2, after 1 s)", "(try 3, after 2 s)"):
            await expect(tab.at("#connection-tries")).to_contain_text(tried)
        await expect(tab.at("#connection-facts")).to_contain_text("connectionreconnecting")
        await tab.button("Try now").click()
        await expect(tab.at("#connection-tries")).to_contain_text("(try 4, after 4 s)")

    stage.play_on(ScriptedRuntime([HOLD]), scenario)


def test_a_status_nobody_can_ask_for_is_told_as_the_last_one_heard(stage: Stage) -> None:
    async def scenario(tab: Tab, _: Site) -> None:
        await tab.send("Hi")
        status = tab.at("main header .status")
        await expect(status).to_have_text("● running", use_inner_text=True)
        await expect(tab.button("Delete Hi")).to_be_visible()  # no list comes while offline
        await tab.page.context.set_offline(True)
        await tab.button("Delete Hi").click()
        await tab.button("Delete").click()
        await expect(tab.at("#connection-text")).to_contain_text("This computer is offline.")
        assert await status.inner_text() == "● running when last heard of"
        await expect(tab.at("#identities .card").nth(2)).to_contain_text("newest running when last")
        await expect(tab.at("#state")).to_contain_text("was running when the server was last")
        await tab.page.context.set_offline(False)
        await expect(tab.at("#connection")).to_be_hidden()
        assert await status.inner_text() == "● running"

    stage.play(scenario, [HOLD])


def test_a_connection_that_breaks_goes_on_after_the_last_event_it_had(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = await tab.send("Hi")
        await expect(tab.at("#stream .answer")).to_have_text("one")
        await tab.page.evaluate("cutStream()")
        await site.runtime.watched_by(0)
        site.runtime.proceed(conversation)
        await expect(tab.at("#stream .answer")).to_have_text("one two")
        assert [url for url in tab.requests if "api/chat?" in url][-1].endswith(":1")

    async def cuttable(tab: Tab, site: Site) -> None:
        # The browser gives no way to break a connection of its own: what it does then is done here.
        await tab.page.add_init_script(
            "const Native = EventSource; let open;"
            "globalThis.EventSource = class extends Native { constructor(url) { super(url); open = this; } };"
            "globalThis.cutStream = () => { open.close(); open.dispatchEvent(new Event('error')); };"
        )
        await tab.page.reload()
        await scenario(tab, site)

    stage.play_on(ScriptedRuntime([say("one"), HOLD, say(" two"), HOLD]), cuttable)


def test_a_message_without_an_answer_is_sent_again_as_the_same_one(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        keys: list[str | None] = []

        async def lost(route: Route) -> None:
            keys.append(route.request.headers.get("idempotency-key"))
            if len(keys) > 1:
                await route.continue_()
                return
            await route.fetch()  # the server has it, and the answer is lost
            await route.abort()

        await tab.page.route("**/api/chat", lost)
        await tab.box.fill("once")
        await tab.box.press("Enter")
        await expect(tab.at("#connection")).to_be_visible()
        await expect(tab.at("#connection")).to_be_hidden()
        await expect(tab.box).to_have_value("once")
        await tab.box.press("Enter")
        await expect(tab.at("#record")).to_contain_text("ok")
        assert len(await rows(site)) == 1
        assert keys[0] == keys[1] != ""

    stage.play(scenario, [say("ok")])


def test_whoever_is_not_signed_in_is_sent_to_sign_in_and_comes_back(stage: Stage) -> None:
    async def scenario(tab: Tab, site: Site) -> None:
        conversation = (await site.start("wanted"))["conversation"]

        async def refuse(route: Route) -> None:
            error = {"error": {"code": "UNAUTHORISED", "message": "A token is needed."}}
            await route.fulfill(status=401, json=error)

        async def sign_in(route: Route) -> None:
            await tab.page.unroute("**/api/**")
            await route.fulfill(content_type="text/html", body="<title>Sign in</title>")

        await tab.page.route("**/api/**", refuse)
        await tab.page.route("**/sign-in", sign_in)
        await tab.page.goto("about:blank")  # who has been let in before is told so
        await tab.page.goto(f"{tab.base}/#{conversation}", wait_until="commit")
        await expect(tab.page).to_have_title("Sign in")
        assert tab.page.url == f"{tab.base}/sign-in"
        await tab.page.goto(f"{tab.base}/")
        await expect(tab.at("#title")).to_have_text("wanted")

    stage.play(scenario, [say("ok")])
