"""Every failure has one shape, whoever notices it: a guard, a route, or nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from served import UNKNOWN, asked, run

from sophos.conversation import Checkpoint
from sophos.errors import RecordDamaged, SophosError, StorageUnavailable, ToolsUnavailable
from sophos.runtime.answers import ConversationView, Readiness
from sophos.settings import Settings
from sophos.testing.runtime import ScriptedRuntime
from sophos.web.app import create_app


class Broken(ScriptedRuntime):
    """A runtime that fails in ways it says (or does not)."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def readiness(self) -> Readiness:
        raise self.error

    async def conversation(self, conversation: str) -> ConversationView:  # noqa: ARG002
        raise self.error

    async def checkpoints(self, conversation: str) -> AsyncIterator[Checkpoint]:  # noqa: ARG002
        """As the real one: it is begun before anything is read, and its last step may be damaged."""
        return but_the_last(self.error)


async def but_the_last(error: Exception) -> AsyncIterator[Checkpoint]:
    for step in (-1, 0):
        yield Checkpoint(
            checkpoint_id=str(step),
            parent_id=None,
            step=step,
            source="loop",
            next=(),
            run=None,
            message_count=0,
            created_at="2026-01-01T00:00:00.000Z",
            last_message=None,
        )
    raise error


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "NOT_FOUND"),
        ("GET", "/static/nothing.js", 404, "NOT_FOUND"),
        ("GET", "/static/../app.py", 404, "NOT_FOUND"),
        ("GET", "/static/%2e%2e/app.py", 404, "NOT_FOUND"),
        ("GET", "/api/conversations/", 404, "NOT_FOUND"),
        ("PUT", "/api/chat", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/", 405, "METHOD_NOT_ALLOWED"),
        ("GET", f"/api/runs/{UNKNOWN}/cancel", 405, "METHOD_NOT_ALLOWED"),
        ("TRACE", "/api/healthz", 405, "METHOD_NOT_ALLOWED"),
    ],
)
def test_what_is_not_there_is_told_in_the_one_shape(
    method: str, path: str, status: int, code: str
) -> None:
    async def scenario() -> None:
        async with asked() as site:
            answer = await site.http.request(method, path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
            assert (status == 405) == ("allow" in answer.headers)

    run(scenario())


def test_a_refused_method_is_told_every_method_of_the_address() -> None:
    async def scenario() -> None:
        async with asked() as site:
            assert (await site.http.put("/api/chat")).headers["allow"] == "GET, POST"
            path = f"/api/conversations/{UNKNOWN}"
            assert (await site.http.patch(path)).headers["allow"] == "DELETE, GET"
            assert (await site.http.options(f"{path}/runs")).headers["allow"] == "GET"

    run(scenario())


def test_an_error_nobody_foresaw_is_told_without_its_trace() -> None:
    async def scenario() -> None:
        async with asked(Broken(RuntimeError("at /secret/path"))) as site:
            answer = await site.http.get("/api/readyz")
            assert answer.status_code == 500
            assert answer.json() == {
                "error": {"code": "SOPHOS_ERROR", "message": SophosError().message}
            }

    run(scenario())


def test_storage_that_cannot_be_used_says_when_to_come_back() -> None:
    async def scenario() -> None:
        async with asked(Broken(StorageUnavailable())) as site:
            answer = await site.http.get("/api/readyz")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert answer.json()["error"]["code"] == "STORAGE_UNAVAILABLE"

    run(scenario())


@pytest.mark.parametrize("rest", ["", "/checkpoints", "/export", "/export?format=jsonl"])
def test_a_thread_that_cannot_be_read_is_told_by_the_status(rest: str) -> None:
    async def scenario() -> None:
        async with asked(Broken(RecordDamaged())) as site:
            answer = await site.http.get(f"/api/conversations/{UNKNOWN}{rest}")
            assert answer.status_code == 503
            assert answer.json()["error"]["message"] == RecordDamaged().message

    run(scenario())


def test_an_agent_that_could_not_be_opened_is_no_fault_of_the_server_s_code() -> None:
    async def scenario() -> None:
        async with asked(Broken(ToolsUnavailable())) as site:
            answer = await site.http.get(f"/api/conversations/{UNKNOWN}")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            assert answer.json()["error"]["code"] == "TOOLS_UNAVAILABLE"

    run(scenario())


@pytest.mark.parametrize(
    "asked_for", ["bytes=99999999-", "bytes=9-1", "lines=1-2", "x", "bytes=0-1"]
)
@pytest.mark.parametrize("path", ["/", "/static/style.css"])
def test_a_file_is_sent_whole_whatever_part_was_asked_for(path: str, asked_for: str) -> None:
    async def scenario() -> None:
        async with asked() as site:
            whole = await site.http.get(path)
            answer = await site.http.get(path, headers={"Range": asked_for})
            assert (answer.status_code, answer.content) == (200, whole.content)
            assert answer.headers["accept-ranges"] == "none"

    run(scenario())


def test_a_server_that_is_not_ready_says_what_to_mend() -> None:
    async def scenario() -> None:
        async with asked(ScriptedRuntime(ready=False)) as site:
            answer = await site.http.get("/api/readyz")
            assert answer.status_code == 503
            assert answer.json()["status"] == "unready"
            assert "Start it" in answer.json()["checks"]["model"]
        async with asked() as site:
            assert (await site.http.get("/api/readyz")).json()["status"] == "ready"

    run(scenario())


def test_healthz_answers_before_the_runtime_and_everything_else_waits() -> None:
    async def scenario() -> None:
        opening: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        app = create_app(Settings(), "boot", opening)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            waiting = asyncio.create_task(http.get("/api/conversations"))
            given_up = asyncio.create_task(http.get("/api/conversations"))
            assert (await http.get("/api/healthz")).json()["boot_id"] == "boot"
            assert not waiting.done()
            given_up.cancel()
            await asyncio.wait({given_up})
            opening.set_result(ScriptedRuntime())
            assert (await waiting).json() == {"conversations": [], "next": None}

    run(scenario())


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
FIELDS = st.sampled_from(["message", "resume", "conversation", "x"])


@settings(max_examples=40, deadline=None)
@given(body=st.dictionaries(FIELDS, JSON | st.just(UNKNOWN), max_size=4) | JSON, raw=st.binary())
def test_no_body_makes_the_server_fail(body: Any, raw: bytes) -> None:
    """Whatever is sent, the answer is 202 or an error of the caller in the one shape."""

    async def scenario() -> None:
        async with asked() as site:
            headers = {"Content-Type": "application/json"}
            for options in ({"json": body}, {"content": raw, "headers": headers}):
                answer = await site.http.post("/api/chat", **options)
                assert answer.status_code == 202 or 400 <= answer.status_code < 500
                assert answer.status_code == 202 or set(answer.json()["error"]) >= {
                    "code",
                    "message",
                }

    run(scenario())


def test_the_description_names_every_answer_and_none_of_the_frameworks_own() -> None:
    async def scenario() -> None:
        async with asked() as site:
            description = (await site.http.get("/openapi.json")).json()
            operation = description["paths"]["/api/chat"]["post"]
            assert set(operation["responses"]) == {
                *("202", "400", "401", "403", "404", "409", "413", "415", "422", "429", "503")
            }
            assert "HTTPValidationError" not in str(description)
            schemas = description["components"]["schemas"]
            assert schemas["ErrorBody"]["properties"]["error"]["$ref"].endswith("ErrorDetail")
            assert "ErrorDetail" in schemas

    run(scenario())


def test_the_reference_lists_every_route_and_loads_nothing_from_elsewhere() -> None:
    async def scenario() -> None:
        async with asked() as site:
            paths = (await site.http.get("/openapi.json")).json()["paths"]
            page = (await site.http.get("/docs")).text
            assert all(path in page for path in paths)
            assert "http://" not in page
            assert "https://" not in page

    run(scenario())
