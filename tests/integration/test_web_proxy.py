"""Behind a proxy that ends TLS and adds a prefix: a real proxy process, real certificates."""

from __future__ import annotations

from pathlib import Path

import pytest
from proxied import proxied, proxy_process
from served import run, say, served
from test_web_sign_in import TOKEN, sign_in

from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD
from sophos.web.guesses import MOST


@pytest.mark.parametrize("keep_prefix", [False, True])
def test_a_class_signs_in_sends_and_watches_below_a_prefix(
    tmp_path: Path, keep_prefix: bool
) -> None:
    async def scenario() -> None:
        runtime = ScriptedRuntime([say("first"), HOLD, say("second")])
        async with proxied(tmp_path, runtime, keep_prefix=keep_prefix, token=TOKEN) as site:
            assert (await site.http.get("api/conversations")).status_code == 401
            answer = await sign_in(site)
            assert "Secure" in answer.headers["set-cookie"].split("; ")
            page = await site.http.get(answer.headers["location"])
            assert (page.status_code, page.url.path) == (200, "/sophos/")
            origin = {"Origin": f"https://localhost:{site.http.base_url.port}"}
            sent = await site.http.post("api/chat", json={"message": "Hi"}, headers=origin)
            assert sent.headers["location"].startswith("/sophos/api/runs/")
            query = {"conversation": sent.json()["conversation"]}
            async with site.http.stream("GET", "api/chat", params=query) as stream:
                lines = stream.aiter_lines()
                # The run stands still until this has come: nothing on the way holds it back.
                assert await anext(lines) == "event: token"
                runtime.proceed(query["conversation"])
                rest = [line async for line in lines]
            assert "event: end" in rest

    run(scenario())


def test_the_session_is_sent_to_sophos_and_to_nothing_beside_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with proxied(tmp_path, token=TOKEN) as site:
            await sign_in(site)
            [cookie] = site.http.cookies.jar
            assert (cookie.path, cookie.secure) == ("/sophos", True)

    run(scenario())


def test_only_pages_of_the_address_that_the_browser_shows_may_change_anything(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with proxied(tmp_path) as site:
            port = site.http.base_url.port
            for origin in (
                f"http://localhost:{port}",  # the same host without TLS
                f"http://127.0.0.1:{site.port}",  # how the proxy reaches Sophos
                "https://localhost",
                "https://evil.example",
            ):
                headers = {"Origin": origin}
                answer = await site.http.post("api/chat", json={"message": "a"}, headers=headers)
                assert answer.json()["error"]["code"] == "FORBIDDEN_ORIGIN", origin

    run(scenario())


def test_a_host_that_is_not_named_is_refused_behind_a_proxy_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        named = frozenset({"class.example"})
        async with proxied(tmp_path, allowed_hosts=named) as site:
            for host, expected in (("class.example", 200), ("evil.example", 403)):
                answer = await site.http.get("api/healthz", headers={"Host": host})
                assert answer.status_code == expected

    run(scenario())


def test_a_proxy_that_nobody_named_is_not_believed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with proxied(tmp_path, token=TOKEN, trusted_proxies=()) as site:
            # Sophos sees its own address as the host, and the page's origin is another.
            assert (await sign_in(site)).json()["error"]["code"] == "FORBIDDEN_ORIGIN"

    run(scenario())


def test_a_client_cannot_say_that_it_is_somebody_else() -> None:
    async def scenario() -> None:
        async with served(token=TOKEN) as site:
            for number in range(MOST):
                said = {"X-Forwarded-For": f"10.0.0.{number}"}
                await site.http.post("/sign-in", data={"token": "guess"}, headers=said)
            assert (await sign_in(site)).status_code == 429

    run(scenario())


def test_behind_a_proxy_a_guesser_is_told_from_the_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with proxied(tmp_path, token=TOKEN) as site:
            for _ in range(MOST):
                await sign_in(site, "guess")
            assert (await sign_in(site)).status_code == 429
            # Somebody else, through the same proxy.
            said = {"X-Forwarded-For": "198.51.100.7"}
            direct = f"http://127.0.0.1:{site.port}/api/conversations"
            headers = {**said, "Authorization": f"Bearer {TOKEN}"}
            assert (await site.http.get(direct, headers=headers)).status_code == 200

    run(scenario())


def test_without_the_slash_at_its_end_the_prefix_leads_to_the_page() -> None:
    async def scenario() -> None:
        async with (
            served(root_path="/sophos") as site,
            proxy_process(site.port, "/sophos", "--keep-prefix") as port,
        ):
            for method in ("GET", "HEAD"):
                answer = await site.http.request(method, f"http://127.0.0.1:{port}/sophos")
                assert (answer.status_code, answer.headers["location"]) == (308, "/sophos/")

    run(scenario())


def test_a_prefix_does_not_open_a_way_past_the_token(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with proxied(tmp_path, token=TOKEN) as site:
            base = f"http://127.0.0.1:{site.port}"
            for path in ("/sophos/sophos/api/conversations", "//api/conversations", "/sophos//api"):
                assert (await site.http.get(base + path)).status_code == 404
            for path in ("/sophos/api/conversations", "/api/conversations"):
                assert (await site.http.get(base + path)).status_code == 401

    run(scenario())
