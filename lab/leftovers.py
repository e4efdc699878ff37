"""What a lab that has ended may have left running, found by the mark that its children carry.

A kernel's child that was let go by its parent is in nobody's list of children any more; the mark
in its environment stays. It is new for each lab, so another one's processes are safe.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import psutil

from lab.facts import NotSeen, until
from lab.tree import Record

# Sophos refuses settings it does not know, but for the lab's own.
MARK: Final = "SOPHOS_LAB_SESSION"
NOTICE_WITHIN: Final = 15.0  # seconds; longer than a server's own grace
LOOK_EVERY: Final = 0.1  # seconds; a look reads the environment of every process


def end_marked(mark: str, *, grace: float = 0.0) -> None:
    """Kill every process whose mark starts with this one, unless it ends within `grace` seconds."""
    end = time.monotonic() + grace
    # Again until there is none: one that is about to die may have started another.
    while found := list(_marked(mark)):
        if time.monotonic() < end:
            time.sleep(LOOK_EVERY)
            continue
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(found, timeout=NOTICE_WITHIN)


def see_ended(records: Sequence[Record]) -> None:
    """Wait until the processes of a lab that was killed have noticed, and kill what has not."""
    try:
        until(
            lambda: not any(record.is_alive for record in records),
            what="the end of an earlier lab's processes",
            seconds=NOTICE_WITHIN,
        )
    except NotSeen:
        for record in records:
            if record.is_alive:
                with suppress(psutil.NoSuchProcess):
                    psutil.Process(record.pid).kill()


def _marked(mark: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        # Another user's, or one that has just ended.
        with suppress(psutil.Error, OSError):
            carried = process.environ().get(MARK, "")
            if carried.startswith(mark) and process.status() != psutil.STATUS_ZOMBIE:
                yield process
