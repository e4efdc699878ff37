"""Signing in: a plain form, a session for a browser, and no hurry for who guesses."""

from __future__ import annotations

import re

import httpx
import pytest
from served import Site, asked, run, say, served

from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD
from sophos.web.guesses import MOST

TOKEN = "correct-horse-battery"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
WRONG = {"token": "incorrect-horse-battery"}


async def sign_in(site: Site, token: str = TOKEN) -> httpx.Response:
    origin = f"{site.http.base_url.scheme}://{site.http.base_url.netloc.decode()}"
    return await site.http.post("sign-in", data={"token": token}, headers={"Origin": origin})


async def status(site: Site, **headers: str) -> int:
    return (await site.http.get("/api/conversations", headers=headers)).status_code


def test_who_shows_the_token_gets_a_session_and_is_sent_to_the_page() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            assert await status(site) == 401
            answer = await sign_in(site)
            assert (answer.status_code, answer.headers["location"]) == (303, "./")
            assert await status(site) == 200

    run(scenario())


def test_no_script_and_no_other_site_can_use_the_session() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            value, *attributes = (await sign_in(site)).headers["set-cookie"].split("; ")
            assert set(attributes) == {"HttpOnly", "SameSite=strict", "Max-Age=43200"}
            assert re.fullmatch(r"sophos_session=\d+\.[0-9a-f]{16}\.[0-9a-f]{64}", value)

    run(scenario())


def test_a_stream_is_watched_with_a_session() -> None:
    async def scenario() -> None:
        runtime = ScriptedRuntime([say("Hello"), HOLD])
        async with served(runtime, token=TOKEN) as site:
            await sign_in(site)
            started = await site.start()
            stream = site.follow(started["conversation"])
            assert (await anext(stream)).data["text"] == "Hello"
            runtime.proceed(started["conversation"])
            assert [event.name async for event in stream] == ["end"]
            site.http.cookies.clear()
            refused = await site.http.get("/api/chat", params=started)
            assert refused.status_code == 401

    run(scenario())


def test_a_session_outlives_a_restart() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as before:
            await sign_in(before)
            cookies = before.http.cookies
        async with asked(token=TOKEN) as after, asked(token="another-horse-battery") as another:
            after.http.cookies, another.http.cookies = cookies, cookies
            assert (await status(after), await status(another)) == (200, 401)

    run(scenario())


def test_signing_out_ends_the_session_and_takes_it_from_the_browser() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            await sign_in(site)
            copy = f"sophos_session={site.http.cookies['sophos_session']}"
            assert "Sign out" in (await site.http.get("/sign-in")).text
            answer = await site.http.post("/sign-out")
            assert (answer.status_code, answer.headers["location"]) == (303, "sign-in?because=out")
            assert not site.http.cookies
            assert await status(site) == await status(site, Cookie=copy) == 401
            told = (await site.http.get("/sign-in?because=out")).text
            assert "You are signed out." in told
            assert '<button type="submit">Sign in' in told


def test_the_page_offers_to_sign_out_where_there_is_a_session_to_end() -> None:
    async def scenario() -> None:
        offered = 'id="sign-out">Sign out'
        async with asked(token=TOKEN) as site, asked() as open_site:
            assert offered not in (await site.http.get("/")).text
            await sign_in(site)
            assert offered in (await site.http.get("/")).text
            open_site.http.cookies = site.http.cookies
            assert offered not in (await open_site.http.get("/")).text

    run(scenario())


def test_an_address_can_have_the_sign_in_page_say_nothing_of_its_own() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            plain = (await site.http.get("/sign-in")).text
            for because in ("", "<b>out</b>", "Call+555+and+say+your+token"):
                assert (await site.http.get(f"/sign-in?because={because}")).text == plain

    run(scenario())


def test_another_sites_page_can_sign_nobody_in_or_out() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            for path in ("/sign-in", "/sign-out"):
                for origin in ("http://evil.example", "null"):
                    headers = {"Origin": origin}
                    answer = await site.http.post(path, data={"token": TOKEN}, headers=headers)
                    assert answer.json()["error"]["code"] == "FORBIDDEN_ORIGIN"
                    assert "set-cookie" not in answer.headers

    run(scenario())


def test_a_wrong_token_is_told_on_the_page_and_not_repeated() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            answer = await sign_in(site, "<b>wrong</b>")
            assert answer.status_code == 401
            assert 'role="alert">That is not the token.' in answer.text
            assert "wrong</b>" not in answer.text
            assert TOKEN not in answer.text + str(answer.headers)
            assert "set-cookie" not in answer.headers

    run(scenario())


@pytest.mark.parametrize("way", ["form", "bearer"])
def test_who_guesses_has_to_wait_even_with_the_right_token(way: str) -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            for _ in range(MOST):
                if way == "form":
                    assert (await sign_in(site, "a guess")).status_code == 401
                else:
                    assert await status(site, Authorization="Bearer guess") == 401
            answer = await sign_in(site)
            assert answer.status_code == 429
            assert 0 < int(answer.headers["retry-after"]) <= 60
            assert "Try again in" in answer.text
            assert await status(site, **BEARER) == 429

    run(scenario())


def test_who_is_signed_in_does_not_wait_for_a_guesser_at_the_same_address() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            await sign_in(site)
            for _ in range(MOST):
                await site.http.post("/sign-in", data=WRONG)
            assert (await site.http.post("/sign-in", data=WRONG)).status_code == 429
            assert await status(site) == 200

    run(scenario())


def test_coming_without_a_token_is_no_guess() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            for _ in range(MOST + 1):
                assert await status(site, Cookie="sophos_session=1.2") == 401
            assert (await sign_in(site)).status_code == 303

    run(scenario())


def test_what_is_sent_instead_of_the_form_is_refused() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            as_json = await site.http.post("/sign-in", json={"token": TOKEN})
            long = await site.http.post("/sign-in", data={"token": "x" * 5000})
            in_address = await site.http.post(f"/sign-in?token={TOKEN}")
            empty = await site.http.post("/sign-in", data={"other": "x"})
            codes = [as_json.status_code, long.status_code, in_address.status_code]
            assert codes == [415, 413, 401]
            assert empty.status_code == 401

    run(scenario())


def test_where_no_token_is_set_there_is_nothing_to_sign_in_to() -> None:
    async def scenario() -> None:
        async with asked() as site:
            out = await site.http.post("/sign-out")
            for answer in (out, await site.http.get("/sign-in"), await sign_in(site, "anything")):
                assert (answer.status_code, answer.headers["location"]) == (303, "./")
                assert "set-cookie" not in answer.headers

    run(scenario())


def test_a_stream_that_is_open_goes_on_when_another_is_refused() -> None:
    async def scenario() -> None:
        runtime = ScriptedRuntime([say("a"), HOLD, say("b")])
        async with served(runtime, token=TOKEN) as site:
            await sign_in(site)
            started = await site.start()
            stream = site.follow(started["conversation"])
            assert (await anext(stream)).data["text"] == "a"
            await site.http.post("/sign-out")
            runtime.proceed(started["conversation"])
            assert [event.name async for event in stream] == ["token", "end"]

    run(scenario())


def test_whoever_signs_in_sees_and_may_delete_everything() -> None:
    async def scenario() -> None:
        async with asked(token=TOKEN) as site:
            await sign_in(site)
            started = await site.start("Ada's own words")
            await site.http.post(f"/api/runs/{started['run']}/cancel")
            await site.http.post("/sign-out")
            await sign_in(site)
            [listed] = (await site.http.get("/api/conversations")).json()["conversations"]
            assert listed["title"] == "Ada's own words"
            deleted = await site.http.delete(f"/api/conversations/{listed['id']}")
            assert deleted.status_code == 204

    run(scenario())
