"""Who may ask: hosts, origins, tokens, and the headers every answer carries."""

from __future__ import annotations

import pytest
from served import asked, run

GOOD_HOSTS = ["localhost", "LOCALHOST:80", "127.0.0.1:5173", "127.8.8.8", "[::1]:9", "box.lan:1"]
BAD_HOSTS = [
    *("evil.example", "evil.example:5173", "localhost.evil.example", "10.0.0.1", "0.0.0.0"),
    *("[::1].evil.example", "[::1]@evil.example", "localhost:evil.example", "[::1", "[localhost"),
    *("[::2]", "", "user@localhost", "127.0.0.1.evil.example", "box.lan.evil.example"),
]


def test_only_this_machine_and_the_named_hosts_are_answered_for() -> None:
    async def scenario() -> None:
        async with asked(allowed_hosts=frozenset({"box.lan"})) as site:
            for host in GOOD_HOSTS:
                answer = await site.http.get("/api/healthz", headers={"Host": host})
                assert answer.status_code == 200, host
            for host in BAD_HOSTS:
                for path in ("/api/healthz", "/", "/static/app.js"):
                    answer = await site.http.get(path, headers={"Host": host})
                    assert answer.status_code == 403, host
                    assert answer.json()["error"]["code"] == "FORBIDDEN_HOST"

    run(scenario())


ELSEWHERE = [
    {"Origin": "http://evil.example"},
    {"Origin": "http://localhost:3000"},
    {"Origin": "http://localhost"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "file://"},
    {"Origin": "http://localhost:5173.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://localhost:5173", "Sec-Fetch-Site": "cross-site"},
]


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_another_sites_page_can_change_nothing(headers: dict[str, str]) -> None:
    async def scenario() -> None:
        async with asked() as site:
            answer = await site.http.post("/api/chat", json={"message": "a"}, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN_ORIGIN")
            listed = await site.http.get("/api/conversations", headers=headers)
            assert listed.json()["conversations"] == []
            assert "access-control-allow-origin" not in listed.headers

    run(scenario())


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost:5173", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://localhost:443", "Host": "localhost"},
        {"Origin": "http://LOCALHOST", "Host": "localhost:80"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_its_own_page_and_programs_may_start_runs(headers: dict[str, str]) -> None:
    async def scenario() -> None:
        async with asked() as site:
            answer = await site.http.post("/api/chat", json={"message": "a"}, headers=headers)
            assert answer.status_code == 202

    run(scenario())


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer wrong", "Basic s3cret", "s3cret", "Bearer é"]
)
def test_without_the_token_only_healthz_answers(given: str) -> None:
    async def scenario() -> None:
        async with asked(token="s3cret") as site:
            headers = [(b"Authorization", given.encode("latin-1"))]
            for path in ("/api/conversations", "/api/nothing", "/api/readyz", "/api/healthz/"):
                answer = await site.http.get(path, headers=headers)
                assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHORISED")
                assert answer.headers["www-authenticate"] == "Bearer"
                assert "s3cret" not in answer.text
            assert (await site.http.get("/api/healthz")).status_code == 200

    run(scenario())


def test_with_the_token_everything_answers() -> None:
    async def scenario() -> None:
        async with asked(token="s3cret") as site:
            headers = {"Authorization": "bearer s3cret"}
            answer = await site.http.post("/api/chat", json={"message": "a"}, headers=headers)
            assert answer.status_code == 202

    run(scenario())


@pytest.mark.parametrize("path", ["/", "/docs", "/static/app.js", "/api/healthz", "/api/nothing"])
def test_every_answer_forbids_what_is_not_from_here(path: str) -> None:
    async def scenario() -> None:
        async with asked() as site:
            headers = (await site.http.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "*" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cache-control"] == ("no-store" if "/api" in path else "no-cache")

    run(scenario())


def test_a_page_that_has_not_changed_is_not_sent_again() -> None:
    async def scenario() -> None:
        async with asked() as site:
            first = await site.http.get("/static/app.js")
            again = await site.http.get(
                "/static/app.js", headers={"If-None-Match": first.headers["etag"]}
            )
            assert (again.status_code, again.content) == (304, b"")

    run(scenario())
