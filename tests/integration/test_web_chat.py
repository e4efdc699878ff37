"""Starting runs over HTTP: what is accepted, what is refused, and that a refusal changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from served import UNKNOWN, asked, run, say

from sophos.conversation import MESSAGE_LIMIT
from sophos.errors import AgentFailure
from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import DECISION, HOLD


def test_a_message_is_accepted_with_the_address_of_its_run() -> None:
    async def scenario() -> None:
        async with asked() as site:
            answer = await site.http.post("/api/chat", json={"message": "hello"})
            assert answer.status_code == 202
            assert answer.headers["location"] == f"/api/runs/{answer.json()['run']}"
            row = (await site.http.get(answer.headers["location"])).json()
            assert row["conversation"] == answer.json()["conversation"]
            assert (row["kind"], row["input"]) == ("message", "hello")

    run(scenario())


def test_a_conversation_goes_on_with_its_next_message() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime([say("yes")])) as site:
            first = await site.start("one")
            second = await site.start("two", conversation=first["conversation"].upper())
            assert second["conversation"] == first["conversation"]
            record = (await site.http.get(f"/api/conversations/{first['conversation']}")).json()
            said = [message["content"] for message in record["messages"]]
            assert said == ["one", "yes", "two", "yes"]

    run(scenario())


def test_a_resume_is_a_new_run_of_the_same_conversation() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime([AgentFailure()], [say("done")])) as site:
            first = await site.start()
            body = {"resume": True, "conversation": first["conversation"]}
            answer = await site.http.post("/api/chat", json=body)
            assert answer.status_code == 202
            row = (await site.http.get(answer.headers["location"])).json()
            assert (row["kind"], row["resume_of"]) == ("resume", first["run"])

    run(scenario())


def test_the_same_key_and_body_start_nothing_new() -> None:
    async def scenario() -> None:
        async with asked() as site:
            options: dict[str, Any] = {"headers": {"Idempotency-Key": "k!" * 100}}
            options["json"] = {"message": "once"}
            first = await site.http.post("/api/chat", **options)
            again = await site.http.post("/api/chat", **options)
            assert first.json() == again.json()
            listed = (await site.http.get("/api/conversations")).json()["conversations"]
            assert len(listed) == 1

    run(scenario())


BAD_BODIES: list[bytes] = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"message"',
    b"{}",
    b'{"message": ""}',
    b'{"message": " \\n\\t\\u2003"}',
    b'{"message": 5}',
    b'{"message": null}',
    b'{"message": ["hello"]}',
    b'{"message": "a", "resume": true}',
    b'{"message": "a", "unknown": 1}',
    b'{"message": "a", "message": "b"}',
    b'{"message": "a", "conversation": "1"}',
    b'{"message": "a", "conversation": 7}',
    b'{"message": "a", "conversation": "00000000-0000-4000-8000-000000000000\\n"}',
    b'{"message": "a\\ud800"}',
    b'{"message": "a", "\\udfff": 1}',
    b'{"message": NaN}',
    b'{"message": "\xff"}',
    b'\xef\xbb\xbf{"message": "a"}',
    '{"message": "a"}'.encode("utf-16"),
    b'{"resume": true}',
    b'{"resume": false, "conversation": "00000000-0000-4000-8000-000000000000"}',
    b'{"resume": 1, "conversation": "00000000-0000-4000-8000-000000000000"}',
    b'{"resume": "true", "conversation": "00000000-0000-4000-8000-000000000000"}',
    b'{"message": ' + b"9" * 10_000 + b"}",
    b"[" * 100_000,
]


def test_a_body_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    async def scenario() -> None:
        async with asked() as site:
            for body in BAD_BODIES:
                headers = {"Content-Type": "application/json"}
                answer = await site.http.post("/api/chat", content=body, headers=headers)
                assert answer.status_code == 400, body[:80]
                assert answer.json()["error"]["code"] == "BAD_REQUEST"
                assert answer.json()["error"]["message"]
            assert (await site.http.get("/api/conversations")).json()["conversations"] == []

    run(scenario())


@pytest.mark.parametrize("key", ["", "a b", "é", "x" * 201, "a\tb"])
def test_a_key_must_be_visible_ascii(key: str) -> None:
    async def scenario() -> None:
        async with asked() as site:
            headers = [(b"Idempotency-Key", key.encode("latin-1"))]
            answer = await site.http.post("/api/chat", json={"message": "a"}, headers=headers)
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] == "BAD_REQUEST"

    run(scenario())


def test_the_longest_message_is_taken_however_it_is_escaped() -> None:
    async def scenario() -> None:
        async with asked() as site:
            body = b'{"message": "' + b"\\ud83d\\ude00" * MESSAGE_LIMIT + b'"}'
            headers = {"Content-Type": "application/json"}
            answer = await site.http.post("/api/chat", content=body, headers=headers)
            assert answer.status_code == 202, answer.text
            row = (await site.http.get(answer.headers["location"])).json()
            assert row["input"] == "😀" * MESSAGE_LIMIT

    run(scenario())


def test_a_message_past_the_limit_is_too_large() -> None:
    async def scenario() -> None:
        async with asked() as site:
            body = {"message": "x" * (MESSAGE_LIMIT + 1)}
            answer = await site.http.post("/api/chat", json=body)
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == "MESSAGE_TOO_LARGE"

    run(scenario())


@pytest.mark.parametrize("media_type", ["text/plain", "", "application/x-www-form-urlencoded"])
def test_a_body_must_say_that_it_is_json(media_type: str) -> None:
    async def scenario() -> None:
        async with asked() as site:
            headers = {"Content-Type": media_type}
            body = b'{"message": "a"}'
            answer = await site.http.post("/api/chat", content=body, headers=headers)
            assert answer.status_code == 415
            assert answer.json()["error"]["code"] == "UNSUPPORTED_MEDIA_TYPE"

    run(scenario())


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("br", 415), ("identity", 202)])
def test_a_body_must_come_as_it_is(encoding: str, status: int) -> None:
    async def scenario() -> None:
        async with asked() as site:
            headers = {"Content-Encoding": encoding}
            answer = await site.http.post("/api/chat", json={"message": "a"}, headers=headers)
            assert answer.status_code == status
            assert ("without Content-Encoding" in answer.text) == (status == 415)

    run(scenario())


def test_what_is_in_the_way_of_a_run_is_named() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime([HOLD], [say("done")])) as site:
            started = await site.start()
            again = {"message": "b", "conversation": started["conversation"]}
            answer = await site.http.post("/api/chat", json=again)
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (409, "SESSION_IN_PROGRESS")
            assert (error["conversation"], error["run"]) == tuple(started.values())

    run(scenario())


def test_a_run_that_waits_for_a_decision_is_in_the_way_until_it_is_cancelled() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime([DECISION], [say("done")])) as site:
            started = await site.start()
            again = {"message": "b", "conversation": started["conversation"]}
            answer = await site.http.post("/api/chat", json=again)
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, "RUN_WAITING")
            await site.http.post(f"/api/runs/{started['run']}/cancel")
            assert (await site.http.post("/api/chat", json=again)).status_code == 202

    run(scenario())


def test_each_refusal_of_the_runtime_has_its_status() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime([say("done")])) as site:
            started = await site.start()
            resume = {"resume": True, "conversation": started["conversation"]}
            keyed = {"Idempotency-Key": "k"}
            await site.http.post("/api/chat", json={"message": "a"}, headers=keyed)
            answers = {
                "RUN_NOT_RESUMABLE": await site.http.post("/api/chat", json=resume),
                "NOT_FOUND": await site.http.post(
                    "/api/chat", json={"message": "a", "conversation": UNKNOWN}
                ),
                "IDEMPOTENCY_KEY_REUSED": await site.http.post(
                    "/api/chat", json={"message": "b"}, headers=keyed
                ),
                "RUN_NOT_ACTIVE": await site.http.post(f"/api/runs/{started['run']}/cancel"),
            }
            codes = {
                answer.json()["error"]["code"]: answer.status_code for answer in answers.values()
            }
            assert list(codes) == list(answers)
            assert list(codes.values()) == [409, 404, 422, 409]

    run(scenario())


def test_a_server_that_stops_takes_no_runs_and_says_when_to_come_back() -> None:
    async def scenario() -> None:
        async with asked() as site:
            await site.runtime.drain()
            answer = await site.http.post("/api/chat", json={"message": "a"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SHUTTING_DOWN")
            assert int(answer.headers["retry-after"]) > 0

    run(scenario())
