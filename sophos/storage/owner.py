"""One file has one owner: a lock that the operating system releases on any death.

The lock file beside the database stays there; only the lock on it, which dies with the process,
says that the database is owned. Its text names the last owner and is there for the refusal.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sophos.errors import StartupError

LOCK_SUFFIX: Final = ".lock"
_HELD_ELSEWHERE: Final = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_TEXT_LIMIT: Final = 4096  # bytes
# A child that a killed owner was just starting has the lock until its program is loaded.
_PATIENCE: Final = 1.0  # seconds
_PAUSE: Final = 0.02  # seconds

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


@asynccontextmanager
async def hold(database: Path, *, owner: str) -> AsyncIterator[None]:
    """Own `database`, an absolute path, until the end of the block. `owner` is the boot id.

    Raises StartupError naming the owner if there is one, OSError if there can be no lock file.
    """
    # Python opens files so that a program started later does not have them.
    file = os.open(database.with_name(database.name + LOCK_SUFFIX), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        await _take(file, database)
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        text = json.dumps({"pid": os.getpid(), "boot_id": owner, "started_at": started_at})
        os.truncate(file, 0)
        os.write(file, text.encode())
        yield
    finally:
        os.close(file)


async def _take(file: int, database: Path) -> None:
    clock = asyncio.get_running_loop().time
    until = clock() + _PATIENCE
    while True:
        try:
            _lock(file)
        except OSError as error:
            if error.errno not in _HELD_ELSEWHERE:
                raise
            if clock() > until:
                raise StartupError(
                    f"The database {database} is in use by another server{_named(file)}."
                    " Stop that server, or set DATABASE_PATH to another file."
                ) from error
            await asyncio.sleep(_PAUSE)
        else:
            return


def _named(file: int) -> str:
    try:
        text = json.loads(os.read(file, _TEXT_LIMIT))
        return f" (process {text['pid']}, boot {text['boot_id']}, since {text['started_at']})"
    except (OSError, ValueError, LookupError, TypeError):
        # An owner that has just taken the lock has not written its name yet.
        return ""
