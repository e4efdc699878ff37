"""A file held through the operating system, which lets go of it on any death of its holder.

Nothing durable: the file stays, and means nothing without its holder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def hold(path: Path) -> Iterator[int | None]:
    """Hold the file at once, or not at all: yields its descriptor, or None if another holds it.

    A child that is handed the descriptor holds the file too, until both are gone.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield descriptor if _take(descriptor) else None
    finally:
        os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a process holds the file now."""
    if not path.exists():
        return False
    with hold(path) as descriptor:
        return descriptor is None


def _take(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
