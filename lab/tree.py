"""Processes by name and by descent: who was started, who is below whom, who is gone.

A process that dies takes the list of its children with it, so the list is taken before; that list
dies with the owner. Records are files: whoever sweeps after a dead owner reads them.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from lab.facts import NotSeen, until

GONE_WITHIN: Final = 15.0  # seconds from a process's end to its last descendant's
LOOK_EVERY: Final = 0.05  # seconds; a look reads the whole process table

_SUFFIX: Final = ".process.json"
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_START_TIME: Final = 18  # among the fields of /proc/<pid>/stat after the state


class Descendants:
    """Everyone who was ever seen below one process."""

    def __init__(self) -> None:
        self._seen: set[psutil.Process] = set()
        self._looked_at = 0.0

    def look(self, pid: int) -> None:
        self._looked_at = time.monotonic()
        try:
            self._seen.update(psutil.Process(pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return  # what was seen before is all there is to see

    def watch(self, pid: int) -> None:
        """As `look`, but not more often than a look is cheap."""
        if time.monotonic() - self._looked_at > LOOK_EVERY:
            self.look(pid)

    def see_gone(self, label: str) -> None:
        """Wait until all have ended; raises NotSeen with those that have not, and ends them."""
        try:
            until(
                lambda: not self._left(),
                what=f"the end of the descendants of {label}",
                seconds=GONE_WITHIN,
                details=lambda: " Left: " + ", ".join(map(_describe, self._left())),
            )
        except NotSeen:
            # A leak is reported, and still not left behind.
            for process in self._left():
                process.kill()
            raise

    def _left(self) -> list[psutil.Process]:
        return [process for process in self._seen if _runs(process)]


@dataclass(frozen=True, kw_only=True)
class Record:
    """One start of a process; `born` is from `birth`, `created` in seconds since the epoch."""

    name: str
    start: int
    pid: int
    born: str
    created: float
    ready: dict[str, Any] = field(default_factory=dict)
    """What its ready file said; empty for one that is not ready, or never was."""

    @property
    def label(self) -> str:
        """The same in every run: `server#2` is the second start."""
        return f"{self.name}#{self.start}"

    @property
    def is_alive(self) -> bool:
        return birth(self.pid) == self.born

    def save(self, directory: Path) -> None:
        draft = directory / f"{self.label}.process.tmp"
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(directory / f"{self.label}{_SUFFIX}")


def read_records(directory: Path) -> list[Record]:
    """Every record saved there, in the order of name and start."""
    found = [json.loads(path.read_text()) for path in directory.glob(f"*{_SUFFIX}")]
    return sorted((Record(**row) for row in found), key=lambda row: (row.name, row.start))


def birth(pid: int) -> str | None:
    """What with its pid names a process for good, whatever the clock does; None if it has ended."""
    if sys.platform != "linux":
        return _when_created(pid)
    # psutil adds the time of the last boot, which is moved with the clock: a live owner would
    # look like another process. The kernel's own figure, in ticks since that boot, stays.
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = status.rpartition(")")[2].split()
    return None if state in "ZX" else f"{_BOOT_ID.read_text().strip()}/{fields[_START_TIME]}"


def _when_created(pid: int) -> str | None:
    try:
        process = psutil.Process(pid)
        return str(process.create_time()) if _runs(process) else None
    except psutil.NoSuchProcess:
        return None


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _describe(process: psutil.Process) -> str:
    try:
        return f"{process.name()} (pid {process.pid})"
    except psutil.NoSuchProcess:
        return f"pid {process.pid}, ended meanwhile"
