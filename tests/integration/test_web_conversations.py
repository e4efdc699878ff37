"""Reading, exporting and deleting over HTTP, from the record of a scripted runtime."""

from __future__ import annotations

import json
from typing import Any

import pytest
from served import UNKNOWN, Site, asked, run, say, trace

from sophos.errors import ModelUnreachable
from sophos.events import TraceEvent
from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD, Script

WITH_A_TOOL: Script = [
    say("secret thoughts", kind="reasoning"),
    trace(TraceEvent.CALL, name="site__fetch", id="c1", args={"url": "http://x"}),
    trace(TraceEvent.LEAVE),
    trace(
        TraceEvent.RESULT, name="site__fetch", step=2, id="c1", status="error", text="```gone```"
    ),
    say("It is **gone**.", message="m2", step=3),
    trace(TraceEvent.LEAVE, step=3),
]


async def read(site: Site, path: str) -> dict[str, Any]:
    answer = await site.http.get(path)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_record_is_told_in_the_words_of_the_contract() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime(WITH_A_TOOL)) as site:
            started = await site.start("look")
            found = await read(site, f"/api/conversations/{started['conversation']}")
            assert (found["resumable"], found["active_run"]) == (False, None)
            assert (found["next"], found["owed"]) == ([], [])
            assert found["pending_decision"] is None
            _, call, result, answer = found["messages"]
            assert call["tool_calls"] == [
                {"id": "c1", "name": "site__fetch", "args": {"url": "http://x"}}
            ]
            assert call["reasoning"] == "secret thoughts"
            assert (result["tool_call_id"], result["status"]) == ("c1", "error")
            assert set(answer) == {"id", "role", "content", "run"}

    run(scenario())


def test_html_is_added_only_when_it_is_asked_for() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime(WITH_A_TOOL)) as site:
            path = f"/api/conversations/{(await site.start('<b>*look*</b>'))['conversation']}"
            user, *_, answer = (await read(site, f"{path}?render=html"))["messages"]
            assert user["html"] == "<pre>&lt;b&gt;*look*&lt;/b&gt;</pre>"
            assert answer["html"] == "<p>It is <strong>gone</strong>.</p>\n"
            assert (await site.http.get(f"{path}?render=pdf")).status_code == 400

    run(scenario())


def test_an_active_run_is_named_and_its_conversation_cannot_be_deleted() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime([HOLD])) as site:
            started = await site.start()
            path = f"/api/conversations/{started['conversation']}"
            assert (await read(site, path))["active_run"] == started["run"]
            refused = await site.http.delete(path)
            assert (refused.status_code, refused.json()["error"]["code"]) == (
                409,
                "SESSION_IN_PROGRESS",
            )
            cancelled = await site.http.post(f"/api/runs/{started['run']}/cancel")
            assert cancelled.status_code == 202
            assert (await read(site, f"/api/runs/{started['run']}"))["status"] == "cancelled"
            assert (await site.http.delete(path)).status_code == 204
            assert (await site.http.get(path)).status_code == 404

    run(scenario())


def test_the_list_is_newest_first_and_comes_in_pages() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime([say("ok")], [ModelUnreachable()])) as site:
            for text in ("first", "second", "third"):
                await site.start(text)
            page = (await site.http.get("/api/conversations?limit=2")).json()
            assert [row["title"] for row in page["conversations"]] == ["third", "second"]
            assert page["conversations"][0]["error"]["code"] == "MODEL_UNREACHABLE"
            path = f"/api/conversations?limit=2&before={page['next']}"
            last = (await site.http.get(path)).json()
            assert [row["title"] for row in last["conversations"]] == ["first"]
            assert (last["next"], last["conversations"][0]["error"]) == (None, None)

    run(scenario())


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "before=", "before=nowhere"])
def test_a_page_that_cannot_be_is_refused(query: str) -> None:
    async def scenario() -> None:
        async with asked() as site:
            answer = await site.http.get(f"/api/conversations?{query}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")

    run(scenario())


def test_every_attempt_and_every_checkpoint_is_listed_oldest_first() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime([ModelUnreachable()], [say("done")])) as site:
            started = await site.start()
            path = f"/api/conversations/{started['conversation']}"
            await site.http.post("/api/chat", json={"resume": True, **pick(started)})
            rows = (await site.http.get(f"{path}/runs")).json()["runs"]
            assert [row["kind"] for row in rows] == ["message", "resume"]
            assert rows[0]["error"]["code"] == "MODEL_UNREACHABLE"
            checkpoints = (await site.http.get(f"{path}/checkpoints")).json()["checkpoints"]
            assert [row["step"] for row in checkpoints] == [0, 1]
            assert checkpoints[-1]["next"] == []

    run(scenario())


def test_checkpoints_are_read_from_a_known_one_on() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime(WITH_A_TOOL)) as site:
            path = f"/api/conversations/{(await site.start('look'))['conversation']}/checkpoints"

            async def since(known: str) -> list[str]:
                answer = (await site.http.get(path, params={"since": known})).json()
                return [row["checkpoint_id"] for row in answer["checkpoints"]]

            known = await since("no such one")
            assert len(known) == 4
            assert [await since(one) for one in known] == [known[n:] for n in range(4)]

    run(scenario())


def test_a_transcript_holds_what_was_said_and_none_of_the_reasoning() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime(WITH_A_TOOL)) as site:
            path = f"/api/conversations/{(await site.start('look'))['conversation']}/export"
            answer = await site.http.get(path)
            assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
            assert answer.text.startswith("# look\n")
            assert "## Tool: site__fetch (error)\n\n````\n```gone```\n````\n" in answer.text
            assert "It is **gone**." in answer.text
            assert "secret thoughts" not in answer.text

    run(scenario())


def test_a_line_per_checkpoint_ends_with_the_last_message() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime(WITH_A_TOOL)) as site:
            path = f"/api/conversations/{(await site.start('look'))['conversation']}/export"
            answer = await site.http.get(f"{path}?format=jsonl")
            lines = [json.loads(line) for line in answer.text.splitlines()]
            names = {"step", "source", "next", "run", "message_count", "last_message"}
            assert all(set(line) == names for line in lines)
            assert lines[-1]["last_message"]["content"] == "It is **gone**."
            assert "secret thoughts" not in answer.text

    run(scenario())


ROUTES = [
    ("GET", "/api/conversations/{}"),
    ("DELETE", "/api/conversations/{}"),
    ("GET", "/api/conversations/{}/runs"),
    ("GET", "/api/conversations/{}/checkpoints"),
    ("GET", "/api/conversations/{}/export"),
    ("GET", "/api/conversations/{}/export?format=jsonl"),
    ("GET", "/api/chat?conversation={}"),
    ("GET", "/api/runs/{}"),
    ("POST", "/api/runs/{}/cancel"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_an_id_must_be_a_uuid_and_must_exist(method: str, path: str) -> None:
    async def scenario() -> None:
        async with asked() as site:
            unknown = await site.http.request(method, path.format(UNKNOWN))
            assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "NOT_FOUND")
            for bad in ("1", "x" * 36, UNKNOWN.replace("-", ""), f"{{{UNKNOWN}}}", f"{UNKNOWN}%0A"):
                refused = await site.http.request(method, path.format(bad))
                assert (refused.status_code, refused.json()["error"]["code"]) == (
                    400,
                    "BAD_REQUEST",
                ), bad

    run(scenario())


def pick(started: dict[str, str]) -> dict[str, str]:
    return {"conversation": started["conversation"]}
