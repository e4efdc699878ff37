"""The commands and environments of what a lab runs, one function per child. Starts nothing."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.process import Process
from lab.surroundings import is_free
from lab.workspace import Workspace

SITE_PORT: Final = 5174  # where the web site listens if it can
JUPYTER_PORT: Final = 8888  # and JupyterLab: as in lab/notebooks.py
SCRIPTED: Final = "scripted"  # what the scripted model is called


@dataclass(frozen=True, kw_only=True)
class Nursery:
    """Where children run (`root`), keep their files (`place`), and what they inherit."""

    root: Path
    place: Workspace
    environ: Mapping[str, str]

    def scripted_model(self, tokens_per_second: float) -> Process:
        return self._child(
            "model",
            "lab.model",
            *("--model", SCRIPTED, "--tokens-per-second", f"{tokens_per_second:g}"),
            *("--log", str(self.place.processes / "requests.jsonl")),
            *self._promises("model"),
        )

    def site(self) -> Process:
        return self._child(
            "site",
            "lab.site",
            *("--port", str(SITE_PORT if is_free(SITE_PORT) else 0)),
            *("--ledger", str(self.place.processes / "visits.jsonl")),
            *self._promises("site"),
        )

    def sophos(self, port: int, **model: str) -> Process:
        """Sophos on the project's own database and graph, with the lab's configuration."""
        return self._child(
            "sophos",
            "sophos",
            PORT=str(port),
            CONFIG_DIR=str(self.place.config),
            SOPHOS_READY_FILE=str(self._ready_file("sophos")),
            SOPHOS_OWNER_PIPE="stdin",
            **model,
        )

    def jupyter(self, home: Path, **lessons: str) -> Process:
        """JupyterLab, which remembers in `home` what it would remember in yours."""
        return self._child(
            "jupyter",
            "lab.notebooks",
            str(self.root / "lessons"),
            *self._promises("jupyter"),
            JUPYTER_TOKEN=secrets.token_urlsafe(24),
            JUPYTER_CONFIG_DIR=str(home / "config"),
            JUPYTER_DATA_DIR=str(home / "data"),
            JUPYTER_RUNTIME_DIR=str(home / "runtime"),
            JUPYTER_PREFER_ENV_PATH="1",
            IPYTHONDIR=str(home / "ipython"),
            MPLCONFIGDIR=str(home / "matplotlib"),
            **lessons,
        )

    def _child(self, name: str, module: str, *arguments: str, **environ: str) -> Process:
        return Process(
            name,
            [sys.executable, "-m", module, *arguments],
            directory=self.place.processes,
            environment={**self.environ, **environ},
            working_directory=self.root,
        )

    def _promises(self, name: str) -> tuple[str, ...]:
        return ("--ready-file", str(self._ready_file(name)), "--owner-pipe", "stdin")

    def _ready_file(self, name: str) -> Path:
        return self.place.processes / f"{name}.ready.json"
