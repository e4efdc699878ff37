"""What a browser may rely on, from the runtime and from the double that stands in for it.

The real one has a model server that is not there, so each of its runs fails; the double's script
says the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from sophos.errors import (
    BadRequest,
    IdempotencyKeyReused,
    ModelUnreachable,
    NotFound,
    RunNotActive,
    ShuttingDown,
)
from sophos.events import ChatError, Sent
from sophos.run import RunKind, RunStatus
from sophos.runtime.lifecycle import open_runtime
from sophos.settings import Settings
from sophos.testing.runtime import ScriptedRuntime
from sophos.web.opened import Runtime

UNKNOWN: Final = "00000000-0000-4000-8000-000000000000"
Scenario = Callable[[Runtime], Awaitable[None]]


@asynccontextmanager
async def real(folder: Path) -> AsyncIterator[Runtime]:
    config = folder / "config"
    config.mkdir()
    (config / "mcp.json").write_text('{"mcpServers": {}}')
    (config / "system.md").write_text("Answer.")
    settings = Settings(
        database_path=folder / "sophos.db",
        memory_file_path=folder / "memory.jsonl",
        config_dir=config,
        ollama_host="http://127.0.0.1:1",
    )
    async with open_runtime(settings, boot_id="boot") as runtime:
        yield runtime


@asynccontextmanager
async def double(_: Path) -> AsyncIterator[Runtime]:
    yield ScriptedRuntime([ModelUnreachable()], boot_id="boot")


@pytest.fixture(params=[real, double])
def against(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scenario], None]:
    """Run a scenario with a fresh runtime: the real one, then the double."""

    async def played(scenario: Scenario) -> None:
        async with request.param(tmp_path) as runtime:
            await scenario(runtime)

    return lambda scenario: asyncio.run(played(scenario))


async def events(runtime: Runtime, conversation: str, last: str | None = None) -> list[Sent]:
    found = await runtime.subscribe(conversation, run=None, last_event_id=last)
    return [] if found is None else [sent async for sent in found]


Against = Callable[[Scenario], None]


def test_a_failed_run_is_told_live_and_from_its_row(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        started = await runtime.start_message("hello", conversation=None, key=None)
        await events(runtime, started.conversation)
        [late] = await events(runtime, started.conversation)
        assert isinstance(late.event, ChatError)
        assert (late.event.code, late.id) == ("MODEL_UNREACHABLE", None)
        row = await runtime.run(started.run)
        assert (row.status, row.error_code) == (RunStatus.FAILED, "MODEL_UNREACHABLE")
        view = await runtime.conversation(started.conversation)
        assert [message.content for message in view.messages] == ["hello"]
        assert (view.resumable, view.active_run) == (True, None)
        assert (list(view.next), list(view.owed)) == (["agent"], [])

    against(scenario)


def test_whoever_has_had_the_last_event_is_not_sent_another(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        started = await runtime.start_message("hello", conversation=None, key=None)
        first = await runtime.subscribe(started.conversation, run=started.run, last_event_id=None)
        assert first is not None
        ids = [sent.id async for sent in first]
        last = ids[-1] or await last_id(runtime, started.conversation, started.run)
        again = await runtime.subscribe(started.conversation, run=None, last_event_id=last)
        assert again is None

    against(scenario)


async def last_id(runtime: Runtime, conversation: str, run: str) -> str:
    """The run was over before it was watched: try the numbers it may have ended with."""
    for number in range(1, 100):
        asked = f"{run}:{number}"
        if await runtime.subscribe(conversation, run=None, last_event_id=asked) is None:
            return asked
    raise AssertionError("no event of the run is its last")


def test_what_does_not_exist_is_not_found(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        asked: list[Callable[[], Awaitable[object]]] = [
            lambda: runtime.conversation(UNKNOWN),
            lambda: runtime.delete_conversation(UNKNOWN),
            lambda: runtime.runs(UNKNOWN),
            lambda: runtime.run(UNKNOWN),
            lambda: runtime.cancel(UNKNOWN),
            lambda: runtime.checkpoints(UNKNOWN),
            lambda: runtime.subscribe(UNKNOWN, run=None, last_event_id=None),
            lambda: runtime.start_message("a", conversation=UNKNOWN, key=None),
            lambda: runtime.start_resume(conversation=UNKNOWN, key=None),
        ]
        for ask in asked:
            with pytest.raises(NotFound):
                await ask()

    against(scenario)


def test_another_conversations_run_is_not_found(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        one = await runtime.start_message("one", conversation=None, key=None)
        two = await runtime.start_message("two", conversation=None, key=None)
        with pytest.raises(NotFound):
            await runtime.subscribe(one.conversation, run=two.run, last_event_id=None)

    against(scenario)


def test_a_key_is_good_for_one_request(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        first = await runtime.start_message("a", conversation=None, key="k")
        assert await runtime.start_message("a", conversation=None, key="k") == first
        with pytest.raises(IdempotencyKeyReused):
            await runtime.start_message("b", conversation=None, key="k")
        page = await runtime.conversations(limit=10, before=None)
        assert len(page.conversations) == 1

    against(scenario)


def test_a_resume_names_the_run_it_goes_on_with(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        first = await runtime.start_message("a", conversation=None, key=None)
        await events(runtime, first.conversation)
        again = await runtime.start_resume(conversation=first.conversation, key=None)
        await events(runtime, first.conversation)
        rows = await runtime.runs(first.conversation)
        assert [row.id for row in rows] == [first.run, again.run]
        assert (rows[1].kind, rows[1].resume_of) == (RunKind.RESUME, first.run)

    against(scenario)


def test_pages_follow_each_other_without_a_hole(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        for text in "abc":
            started = await runtime.start_message(text, conversation=None, key=None)
            await events(runtime, started.conversation)
        first = await runtime.conversations(limit=2, before=None)
        rest = await runtime.conversations(limit=2, before=first.next)
        rows = [*first.conversations, *rest.conversations]
        assert {row.conversation.title for row in rows} == set("abc")
        assert (len(rows), rest.next) == (3, None)
        with pytest.raises(BadRequest):
            await runtime.conversations(limit=2, before="nowhere")

    against(scenario)


def test_what_is_over_cannot_be_cancelled_and_can_be_deleted(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        started = await runtime.start_message("a", conversation=None, key=None)
        await events(runtime, started.conversation)
        with pytest.raises(RunNotActive):
            await runtime.cancel(started.run)
        await runtime.delete_conversation(started.conversation)
        with pytest.raises(NotFound):
            await runtime.run(started.run)

    against(scenario)


def test_a_drained_runtime_takes_no_runs_and_still_reads(against: Against) -> None:
    async def scenario(runtime: Runtime) -> None:
        started = await runtime.start_message("a", conversation=None, key=None)
        await runtime.drain()
        with pytest.raises(ShuttingDown):
            await runtime.start_message("b", conversation=None, key=None)
        assert (await runtime.run(started.run)).status is not RunStatus.RUNNING

    against(scenario)
