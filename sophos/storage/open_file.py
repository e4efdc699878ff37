"""The file as it was opened, told apart from whatever stands at its path now.

A process that has a file open goes on writing to it after it was deleted, moved or replaced. What
it commits there is gone with the process: nothing of that may be acknowledged. What is remembered
here dies with the process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from sophos.errors import StorageUnavailable
from sophos.storage.owner import LOCK_SUFFIX

_MOVED: Final = (
    "The database file, or one beside it, was moved, replaced or deleted while the server had it"
    " open, and nothing more can be kept. Stop the server, put the file back at DATABASE_PATH, and start it again."
)


class OpenFile:
    """The database, its write-ahead log, the index of that and, if owned, the lock file.

    Make it while they are open.
    """

    def __init__(self, path: Path, *, owned: bool = True) -> None:
        # What was committed last may stand in the log alone. By the index the programs that have the
        # file open know of each other: with one of its own, another starts the log over on top of us.
        # And with a lock file of its own, another takes itself for the owner, and our runs for dead.
        suffixes = ("", "-wal", "-shm", *((LOCK_SUFFIX,) if owned else ()))
        paths = [path.with_name(path.name + suffix) for suffix in suffixes]
        self._parts = {part: _identity(part) for part in paths}

    def check(self) -> None:
        """Raise StorageUnavailable if a new connection would open other files. Takes microseconds."""
        for path, opened in self._parts.items():
            if _identity(path) != opened:
                raise StorageUnavailable(_MOVED)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - half the time of pathlib's, on every write
    except OSError:
        return None
    return found.st_dev, found.st_ino
