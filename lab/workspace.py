"""A throw-away directory per bench: its database, memory file, configuration, logs and records.

    data/lab/06-1/
      owner.json     who uses it: the pid of the owner's process, and when it began
      config/        mcp.json and system.md
      db/ memory/    what Sophos and the Memory server keep
      processes/     logs, ready files, and one record per process started

All of it is on disk and none of it is precious. A directory is never emptied for another use;
it is removed, with any process it still names, once the process that made it is dead.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import psutil

from lab.tree import GONE_WITHIN, Record, birth, read_records

PROJECT: Final = Path(__file__).resolve().parents[1]
ROOT: Final = PROJECT / "data" / "lab"
_OWNER: Final = "owner.json"
_DRAFT: Final = ".draft-"  # then the pid, a dash, and a random part
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """The places in one directory. It exists for as long as its owner lives."""

    directory: Path

    @property
    def config(self) -> Path:
        return self.directory / "config"

    @property
    def database(self) -> Path:
        return self.directory / "db" / "sophos.db"

    @property
    def memory_file(self) -> Path:
        return self.directory / "memory" / "memory.jsonl"

    @property
    def tasks(self) -> Path:
        """The task tracker's own database."""
        return self.directory / "tasks.db"

    @property
    def processes(self) -> Path:
        return self.directory / "processes"

    def records(self) -> list[Record]:
        """Every process started here, dead ones too."""
        return read_records(self.processes)

    def holds(self, path: Path) -> bool:
        """Whether a path, relative to this directory or absolute, lies in it."""
        return (self.directory / path).resolve().is_relative_to(self.directory.resolve())


def make_workspace(name: str, root: Path = ROOT) -> Workspace:
    """A fresh `<root>/<name>-<n>` that this process owns; what dead owners left is swept first."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} names a directory: write letters, digits and dashes.")
    root.mkdir(parents=True, exist_ok=True)
    sweep(root)
    draft = root / f"{_DRAFT}{os.getpid()}-{uuid.uuid4().hex}"
    for place in ("config", "db", "memory", "processes"):
        (draft / place).mkdir(parents=True)
    owner = {"pid": os.getpid(), "born": birth(os.getpid())}
    (draft / _OWNER).write_text(json.dumps(owner), encoding="utf-8")
    # Renaming onto a directory that is not empty fails, so whoever comes first has the number.
    for n in count(1):
        directory = root / f"{name}-{n}"
        if directory.exists():
            continue
        try:
            draft.rename(directory)
        except OSError:
            if directory.exists():
                continue
            raise
        return Workspace(directory=directory)
    raise AssertionError("counting does not end")


def sweep(root: Path = ROOT) -> list[str]:
    """Remove the workspaces of dead owners and end what they left running; their names."""
    swept = []
    for directory in sorted(root.iterdir()) if root.exists() else ():
        if not _is_abandoned(directory):
            continue
        # Renamed before it is emptied: its name may be taken again while its files go.
        doomed = root / f"{_DRAFT}{os.getpid()}-{uuid.uuid4().hex}"
        try:
            directory.rename(doomed)
        except OSError:
            continue  # another sweep has it
        _end_leftovers(Workspace(directory=doomed))
        shutil.rmtree(doomed, ignore_errors=True)
        swept.append(directory.name)
    return swept


def _is_abandoned(directory: Path) -> bool:
    """Whether this is a workspace and its owner is dead. Anything else in the root is left alone."""
    if directory.name.startswith(_DRAFT):
        return not psutil.pid_exists(int(directory.name.removeprefix(_DRAFT).partition("-")[0]))
    owner = _owner(directory)
    return owner is not None and birth(owner["pid"]) != owner.get("born")


def _end_leftovers(workspace: Workspace) -> None:
    ended: list[psutil.Process] = []
    for record in workspace.records():
        with suppress(psutil.NoSuchProcess):
            if record.is_alive:
                leftover = psutil.Process(record.pid)
                ended += [leftover, *leftover.children(recursive=True)]
    for process in ended:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(ended, timeout=GONE_WITHIN)


def _owner(directory: Path) -> dict[str, Any] | None:
    try:
        owner: dict[str, Any] = json.loads((directory / _OWNER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return owner
