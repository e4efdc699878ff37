"""One file has one owner: a lock that the operating system releases on any death.

The lock file beside the database stays there; only the lock on it, which dies with the process,
says that the database is owned. Its text names the last owner and is there for the refusal.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sophos.errors import StartupError

_HELD_ELSEWHERE: Final = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_TEXT_LIMIT: Final = 4096  # bytes

if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE: Final = 1 << 30  # far behind the text: a locked byte cannot be read there

    def _lock(file: int) -> None:
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        os.lseek(file, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def hold(database: Path, *, owner: str) -> Iterator[None]:
    """Own `database`, an absolute path, until the end of the block. `owner` is the boot id.

    Raises StartupError naming the owner if there is one, OSError if there can be no lock file.
    """
    # Python opens files so that children do not inherit them: a child never prolongs the lock.
    file = os.open(database.with_name(database.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _lock(file)
        except OSError as error:
            if error.errno not in _HELD_ELSEWHERE:
                raise
            raise StartupError(
                f"The database {database} is in use by another server{_named(file)}."
                " Stop that server, or set DATABASE_PATH to another file."
            ) from error
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"pid": os.getpid(), "boot_id": owner, "started_at": started_at})
        os.truncate(file, 0)
        os.write(file, text.encode())
        yield
    finally:
        os.close(file)


def _named(file: int) -> str:
    try:
        text = json.loads(os.read(file, _TEXT_LIMIT))
        return f" (process {text['pid']}, boot {text['boot_id']}, since {text['started_at']})"
    except (OSError, ValueError, LookupError, TypeError):
        # An owner that has just taken the lock has not written its name yet.
        return ""
