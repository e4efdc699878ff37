"""The processes beside Sophos as a bench holds them, and what those that do not crash have seen."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import weakref
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from lab.collector import read_sent
from lab.facts import until
from lab.model.handle import Model
from lab.process import Process
from lab.settings import clean
from lab.workspace import Workspace


class Neighbour(Process):
    """A module of the lab that serves HTTP. It comes back where it was: others know its URL."""

    def __init__(
        self, name: str, module: str, workspace: Workspace, options: Sequence[str]
    ) -> None:
        super().__init__(
            name,
            [],
            directory=workspace.processes,
            environment=clean(os.environ),
            working_directory=workspace.directory,
        )
        self._fixed = [sys.executable, "-m", module, "--owner-pipe", "stdin", *options]
        self._fixed += ["--ready-file", str(self.ready_file)]
        self._port, self._url = 0, ""

    @property
    def url(self) -> str:
        """Starts it on first use; while it is down, where it was and will be."""
        if not self._url:
            if not self.is_alive:
                self.launch()
            self.wait_ready()
        return self._url

    def launch(self) -> None:
        self.command = (*self._fixed, "--port", str(self._port))
        super().launch()

    def wait_ready(self) -> None:
        super().wait_ready()
        self._port, self._url = self.ready["port"], self.ready["url"]


class ScriptedModel(Model):
    """The scripted model: `script`, `requests`, `pace`, `hold`, and its `process`."""

    def __init__(self, process: Neighbour) -> None:
        super().__init__(process.url)
        self.process = process
        # A bench that nobody holds any more leaves no open connection either.
        weakref.finalize(self, self._client.close)


class RealModel:
    """An Ollama that is not ours: it answers, and nothing else can be done to it from here."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"A real model has no {name!r}. Use Bench(…, model='scripted') for it."
        )


class Site:
    """The web site that pages are fetched from: `url`, `visits()`, and its `process`."""

    def __init__(self, process: Neighbour, ledger: Path) -> None:
        self.url = process.url
        self.process = process
        self._ledger = ledger

    def visits(self) -> list[dict[str, Any]]:
        """Every GET, oldest first, read from the ledger: also while the site is down."""
        return read_visits(self._ledger)


class Outside:
    """What stands for another machine that is sent data: `url`, `received()`, and its `process`."""

    def __init__(self, process: Neighbour, ledger: Path) -> None:
        self.url = process.url
        self.process = process
        self._ledger = ledger

    def received(self) -> list[dict[str, Any]]:
        """Every request, oldest first: `method`, `path`, `bytes`, and its `body` as text."""
        return read_sent(self._ledger)

    def wait_for(self, text: str) -> None:
        """Until something that holds the text has arrived."""
        until(
            lambda: any(text in request["body"] for request in self.received()),
            what=f"{text!r} at the collector",
        )


def read_visits(ledger: Path) -> list[dict[str, Any]]:
    """The whole lines of a ledger; none if there is no ledger yet."""
    if not ledger.exists():
        return []
    lines = ledger.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One row of the task tracker's ledger: something that really happened."""

    n: int
    tool: str
    title: str
    key: str | None
    at: float
    """In seconds since the epoch, by the tracker's clock, before it was committed."""


@dataclass(frozen=True, kw_only=True)
class ReceivedCall:
    """A call that reached the task tracker, whatever became of it."""

    n: int
    tool: str
    title: str


def read_effects(tracker: Path) -> list[Effect]:
    """The tracker's ledger, oldest first; nothing if there is no tracker yet."""
    rows = _read(tracker, "SELECT n, tool, title, key, at FROM effects ORDER BY n")
    return [Effect(**row) for row in rows]


def read_received(tracker: Path) -> list[ReceivedCall]:
    """Every call that reached the tracker, oldest first."""
    rows = _read(tracker, "SELECT n, tool, title FROM received ORDER BY n")
    return [ReceivedCall(**row) for row in rows]


def memory_rows(text: str) -> list[dict[str, str]]:
    """What the Memory server's file says, one row an entry: entities, then relations, by name."""
    rows = [_memory_row(json.loads(line)) for line in text.splitlines() if line.strip()]
    return sorted(rows, key=lambda row: (row["kind"], row["name"], row["type"]))


def _memory_row(entry: dict[str, Any]) -> dict[str, str]:
    if entry["type"] == "relation":
        name, kind, content = entry["from"], entry["relationType"], entry["to"]
    else:
        name, kind, content = entry["name"], entry["entityType"], "; ".join(entry["observations"])
    return {"kind": entry["type"], "name": name, "type": kind, "content": content}


def _read(database: Path, sql: str) -> list[dict[str, Any]]:
    if not database.exists():
        return []
    uri = f"{database.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql)]
