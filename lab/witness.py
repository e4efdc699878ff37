"""The processes beside Sophos as a bench holds them: the model and the web site."""

from __future__ import annotations

import json
import os
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

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


def read_visits(ledger: Path) -> list[dict[str, Any]]:
    """The whole lines of a ledger; none if there is no ledger yet."""
    if not ledger.exists():
        return []
    lines = ledger.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
