"""The processes below a process: looked at while it lives, seen to be gone after its end.

A process that dies takes the list of its children with it, so the list is taken before. It dies
with the owner; nothing here is durable.
"""

from __future__ import annotations

import time
from typing import Final

import psutil

from lab.facts import NotSeen, until

GONE_WITHIN: Final = 15.0  # seconds from a process's end to its last descendant's
LOOK_EVERY: Final = 0.05  # seconds; a look reads the whole process table


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


def created(pid: int) -> float | None:
    """When the process started, which with its pid names it for good; None if it has ended."""
    try:
        process = psutil.Process(pid)
        return process.create_time() if _runs(process) else None
    except psutil.NoSuchProcess:
        return None


def is_same(pid: int, when: float) -> bool:
    """Whether the process that had this pid and started then is still alive."""
    now = created(pid)
    return now is not None and abs(now - when) < 1


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
