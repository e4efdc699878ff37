"""A whole runtime in the test's own process: real SQLite, the real graph, ChatOllama.

The scripted model and the tool server are real processes. The model's is shared by a module; the
files are each test's own.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolboxes import configure, facts_with, small

from lab.witness import ScriptedModel
from sophos.events import ChatError, End, Sent, Token, Trace, TraceEvent
from sophos.failpoints import Failpoint, parse_failpoints
from sophos.run import Run, RunStatus
from sophos.runtime.answers import Started
from sophos.runtime.lifecycle import open_runtime
from sophos.runtime.service import Runtime
from sophos.settings import Settings

LIMIT: Final = 60.0  # seconds for a scenario; only a hang is that long


@dataclass(frozen=True, kw_only=True)
class House:
    """One test's files, and the model they are used with. `lab` is the name of its tool server."""

    folder: Path
    model: ScriptedModel

    @property
    def database(self) -> Path:
        return self.folder / "sophos.db"

    @property
    def journal(self) -> Path:
        """What the tool server did."""
        return self.folder / "journal.jsonl"

    @property
    def effects(self) -> list[str]:
        """The tools whose effect happened, in order."""
        return self.facts("done")

    def facts(self, word: str) -> list[str]:
        """The tools that the server noted `word` of: called, done or cancelled."""
        return [str(name) for name in facts_with(self.journal, word)]

    def settings(self, **changes: Any) -> Settings:
        values: dict[str, Any] = {
            "database_path": self.database,
            "memory_file_path": self.folder / "memory.jsonl",
            "config_dir": self.folder,
            "ollama_host": self.model.url,
            "child_environment": {"PATH": os.defpath},
        }
        return Settings(**(values | changes))

    @asynccontextmanager
    async def open(self, boot_id: str = "boot-1", **settings: Any) -> AsyncIterator[Runtime]:
        async with open_runtime(self.settings(**settings), boot_id=boot_id) as runtime:
            yield runtime

    @staticmethod
    def failpoint(rule: str) -> tuple[Failpoint, ...]:
        return parse_failpoints(rule)

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """What any outsider sees on disk now."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, parameters).fetchall()

    def execute(self, sql: str) -> None:
        """What somebody else does to the file."""
        with closing(sqlite3.connect(self.database, isolation_level=None)) as connection:
            connection.execute(sql)

    def statuses(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT status FROM runs ORDER BY sequence")]


def furnish(folder: Path, model: ScriptedModel) -> House:
    """Give the folder a prompt and one small tool server, and the model a clean slate."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "system.md").write_text("Answer briefly.", encoding="utf-8")
    house = House(folder=folder, model=model)
    configure(folder, {"lab": small(house.journal)})
    model.release()
    model.pace(None)
    model.script([])
    model.forget_requests()
    return house


def scenario(work: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine; a hang ends it."""

    async def bounded() -> None:
        async with asyncio.timeout(LIMIT):
            await work

    asyncio.run(bounded())


async def watch(
    runtime: Runtime, conversation: str, *, run: str | None = None, after: str | None = None
) -> list[Sent]:
    """Everything one viewer is sent, to the end of its stream."""
    stream = await runtime.subscribe(conversation, run=run, last_event_id=after)
    assert stream is not None, "the viewer was told that it has had everything"
    return [sent async for sent in stream]


async def outcome(runtime: Runtime, started: Started) -> Run:
    """Follow a run to its end; its row."""
    await watch(runtime, started.conversation, run=started.run)
    return await runtime.run(started.run)


async def until_status(runtime: Runtime, run: str, status: RunStatus) -> None:
    """Wait for what an outsider can see alone: the row."""
    while (await runtime.run(run)).status is not status:  # noqa: ASYNC110 - the fact is on disk
        await asyncio.sleep(0.005)


async def say(runtime: Runtime, text: str, conversation: str | None = None) -> Started:
    return await runtime.start_message(text, conversation=conversation, key=None)


async def resume(runtime: Runtime, conversation: str) -> Started:
    return await runtime.start_resume(conversation=conversation, key=None)


def answer(events: Iterable[Sent]) -> str:
    return "".join(
        sent.event.text
        for sent in events
        if isinstance(sent.event, Token) and sent.event.kind == "answer"
    )


def traces(events: Iterable[Sent], *kinds: TraceEvent) -> list[Trace]:
    return [
        sent.event
        for sent in events
        if isinstance(sent.event, Trace) and (not kinds or sent.event.event in kinds)
    ]


def ending(events: Sequence[Sent]) -> str:
    """The status or the error code that a stream ended with."""
    last = events[-1].event
    if isinstance(last, ChatError):
        return last.code
    assert isinstance(last, End), f"the stream ended with {last}"
    return last.status.value


async def told(runtime: Runtime, conversation: str) -> list[tuple[str, str]]:
    """The record as role and content, messages of every kind."""
    view = await runtime.conversation(conversation)
    return [(message.role, message.content) for message in view.messages]


async def only_conversation(runtime: Runtime) -> str:
    (found,) = (await runtime.conversations(limit=10, before=None)).conversations
    return found.conversation.id


async def check_pending(runtime: Runtime, conversation: str) -> None:
    """What storage reads as pending are the tasks that LangGraph would run or has run and not saved."""
    head = await runtime.record.checkpoints.head(conversation)
    graph = (await runtime.agent())._graph
    snapshot = await graph.aget_state({"configurable": {"thread_id": conversation}})
    assert set(head.next if head else ()) == {task.name for task in snapshot.tasks}


def check_history(messages: list[dict[str, Any]]) -> None:
    """Every tool call is followed by its result, in order, and nothing else stands between."""
    place = 0
    while place < len(messages):
        calls = messages[place].get("tool_calls") or []
        results = messages[place + 1 : place + 1 + len(calls)]
        assert [result["role"] for result in results] == ["tool"] * len(calls)
        assert [result.get("tool_name") for result in results] in (
            [asked["function"]["name"] for asked in calls],
            [None] * len(calls),
        )
        place += 1 + len(calls)
        assert place >= len(messages) or messages[place]["role"] != "tool"
