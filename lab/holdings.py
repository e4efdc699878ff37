"""What is held right now, and by whom: processes, listening sockets and open files of a bench.

Read from the operating system, so it says what is there, and not what somebody meant to open or
close. Nothing is kept here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from lab.roles import Member, connections, members
from lab.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Holding:
    """One resource and its holder: who started a process, listens, or has a file open."""

    resource: str
    kind: str
    holder: str


def holdings(workspace: Workspace) -> list[Holding]:
    """Each live process with its starter, followed by what it holds itself."""
    records = workspace.records()
    listeners = {socket.label for socket in connections(records) if socket.kind == "listens"}
    return [
        holding
        for member in members(records)
        for holding in _of(member, workspace.directory, listens=member.label in listeners)
    ]


def _of(member: Member, directory: Path, *, listens: bool) -> Iterator[Holding]:
    yield Holding(resource=member.label, kind="process", holder=member.parent)
    if listens:
        yield Holding(resource="a port", kind="listening socket", holder=member.label)
    for name in _files(member.process, (directory / "db", directory / "memory")):
        file = name.relative_to(directory).as_posix()
        yield Holding(resource=file, kind="open file", holder=member.label)


def _files(process: psutil.Process, places: Sequence[Path]) -> list[Path]:
    """What it has open in these folders, each once; nothing for one that has ended."""
    found: set[Path] = set()
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        found = {Path(file.path) for file in process.open_files()}
    inside = [path.resolve() for path in places]
    return sorted(path for path in found if any(map(path.is_relative_to, inside)))
