"""A task tracker as an MCP server, with a ledger of its effects.

    python -m lab.tasks --database tasks.db

It is a witness: it does not crash when Sophos does, and its ledger has one row for each effect that
really happened, besides one for each call that came. All of it is durable: one SQLite file,
committed before a call returns.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import anyio
from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.types import ToolAnnotations

SLOWEST: Final = 60.0  # seconds
BUSY_TIMEOUT: Final = 5.0  # seconds
CRASHED: Final = 70  # the exit code of a server that a call brought down

READS: Final = ToolAnnotations(readOnlyHint=True, openWorldHint=False)
ADDS: Final = ToolAnnotations(
    readOnlyHint=False, destructiveHint=False, idempotentHint=False, openWorldHint=False
)
ADDS_ONCE: Final = ToolAnnotations(
    readOnlyHint=False, destructiveHint=False, idempotentHint=True, openWorldHint=False
)
DESTROYS: Final = ToolAnnotations(
    readOnlyHint=False, destructiveHint=True, idempotentHint=True, openWorldHint=False
)

_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS tasks (
        id    INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS effects (
        n       INTEGER PRIMARY KEY AUTOINCREMENT,
        tool    TEXT NOT NULL,
        task_id INTEGER NOT NULL,
        title   TEXT NOT NULL,
        key     TEXT UNIQUE,
        at      REAL NOT NULL  -- seconds since the epoch
    ) STRICT;
    CREATE TABLE IF NOT EXISTS received (
        n     INTEGER PRIMARY KEY AUTOINCREMENT,
        tool  TEXT NOT NULL,
        title TEXT NOT NULL
    ) STRICT;
"""


class Ledger:
    """The tracker's file. Every method is one transaction, on disk when it returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._open()) as connection:
            connection.executescript(_TABLES)

    def receive(self, tool: str, title: object = "") -> None:
        """Note that a call has come, before anything is done about it."""
        with closing(self._open()) as connection, connection:
            connection.execute(
                "INSERT INTO received (tool, title) VALUES (?, ?)", (tool, str(title))
            )

    def add(self, tool: str, title: str, key: str | None = None) -> tuple[int, bool]:
        """The task's id, and whether it is new: a key that is known adds nothing."""
        with closing(self._open()) as connection, connection:
            if key is not None:
                known = connection.execute(
                    "SELECT task_id FROM effects WHERE key = ?", (key,)
                ).fetchone()
                if known:
                    return known[0], False
            task = connection.execute("INSERT INTO tasks (title) VALUES (?)", (title,)).lastrowid
            assert task is not None
            _note(connection, tool, task, title, key)
            return task, True

    def delete(self, task: int) -> str | None:
        """The title of the task that is gone now; None if there was none."""
        with closing(self._open()) as connection, connection:
            gone = connection.execute(
                "DELETE FROM tasks WHERE id = ? RETURNING title", (task,)
            ).fetchone()
            if gone:
                _note(connection, "delete_task", task, gone[0], None)
            return gone[0] if gone else None

    def tasks(self) -> list[tuple[int, str]]:
        with closing(self._open()) as connection:
            return connection.execute("SELECT id, title FROM tasks ORDER BY id").fetchall()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT, isolation_level="IMMEDIATE")
        connection.execute("PRAGMA synchronous = FULL")
        return connection


def _note(
    connection: sqlite3.Connection, tool: str, task: int, title: str, key: str | None
) -> None:
    connection.execute(
        "INSERT INTO effects (tool, task_id, title, key, at) VALUES (?, ?, ?, ?, ?)",
        (tool, task, title, key, time.time()),
    )


def make_server(ledger: Ledger) -> FastMCP:
    """The tracker's tools over `ledger`."""
    server = FastMCP("tasks", log_level="ERROR")

    @server.tool(annotations=ADDS)
    def create_task(title: str) -> str:
        """Add a task. Calling it twice adds two."""
        ledger.receive("create_task", title)
        task, _ = ledger.add("create_task", title)
        return f"Created task {task}: {title}"

    @server.tool(annotations=ADDS_ONCE)
    def create_task_once(title: str, idempotency_key: str) -> str:
        """Add a task. Calling it twice with one key adds one."""
        ledger.receive("create_task_once", title)
        task, new = ledger.add("create_task_once", title, idempotency_key)
        return f"{'Created' if new else 'There is already'} task {task}: {title}"

    @server.tool(annotations=ADDS)
    async def slow_task(title: str, seconds: float) -> str:
        """Add a task after a while."""
        if not 0 <= seconds <= SLOWEST:
            raise ToolError(f"seconds must be from 0 to {SLOWEST:g}.")
        ledger.receive("slow_task", title)
        await anyio.sleep(seconds)
        task, _ = ledger.add("slow_task", title)
        return f"Created task {task} after {seconds:g} s: {title}"

    @server.tool(annotations=READS)
    def list_tasks() -> str:
        """List the tasks."""
        ledger.receive("list_tasks")
        return "\n".join(f"{task}: {title}" for task, title in ledger.tasks()) or "No tasks."

    @server.tool(annotations=DESTROYS)
    def delete_task(task: int) -> str:
        """Delete a task for good."""
        ledger.receive("delete_task", task)
        title = ledger.delete(task)
        if title is None:
            raise ToolError(f"There is no task {task}.")
        return f"Deleted task {task}: {title}"

    @server.tool(annotations=ADDS)
    def fail_task(title: str) -> str:
        """Fail before anything has happened."""
        ledger.receive("fail_task", title)
        raise ToolError(f"The tracker refuses {title!r} on purpose.")

    @server.tool(annotations=ADDS)
    def crash_task(title: str) -> str:
        """Add a task, and bring the tracker's process down before it can say so."""
        ledger.receive("crash_task", title)
        ledger.add("crash_task", title)
        os._exit(CRASHED)

    return server


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m lab.tasks", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--database", type=Path, required=True, help="the tracker's SQLite file")
    make_server(Ledger(parser.parse_args(argv).database)).run("stdio")


if __name__ == "__main__":
    main()
