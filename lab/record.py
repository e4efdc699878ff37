"""What the doctor sees of the database: whether it is whole, of which format, and whose.

A read-only look, which leaves no file behind. Standard library alone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from lab.finding import Finding, good, missing, note
from lab.lockfile import is_held

LOCKED_WITHIN: Final = 3.0  # seconds to wait for whoever has locked the file
APPLICATION_ID: Final = 0x534F5048  # "SOPH", as Sophos marks its own files
REPLACE: Final = "stop Sophos, keep the file aside, and put a backup in its place"


def database(path: Path, migrations: Path) -> Iterator[Finding]:
    """`migrations` is the folder of scripts; a file's format is the number it has had."""
    if not path.exists():
        yield good("Database", f"{path} is made at the first start")
        return
    # Opening one whose log files are not there would make them; nobody uses such a one now.
    unused = not path.with_name(f"{path.name}-wal").exists()
    address = f"file:{quote(str(path.absolute()))}?mode=ro" + ("&immutable=1" if unused else "")
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=LOCKED_WITHIN)) as connection:
            yield _whole(path, connection)
            yield _format(connection, len(list(migrations.glob("*.sql"))))
    except sqlite3.Error as error:
        yield missing("Database", f"{path}: {error}", REPLACE)
    yield _owner(path.with_name(f"{path.name}.lock"))


def _whole(path: Path, connection: sqlite3.Connection) -> Finding:
    (told,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if told != "ok":
        return missing("Database", f"{path} is damaged: {told}", REPLACE)
    return good("Database", f"{path} is whole")


def _format(connection: sqlite3.Connection, known: int) -> Finding:
    subject = "Database format"
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and objects:
        return missing(subject, "it is another program's", "set DATABASE_PATH to another file")
    if version > known:
        seen = f"it has format {version}, and this version knows {known}"
        return missing(subject, seen, "start the newer version of Sophos that wrote it")
    if version < known:
        seen = f"it has format {version} of {known}"
        return note(subject, seen, "nothing to do: the next start brings it up to date")
    return good(subject, f"{version}, the newest")


def _owner(lock: Path) -> Finding:
    subject = "Database owner"
    try:
        if not is_held(lock):
            return good(subject, "no server has it open")
        pid = json.loads(lock.read_text(encoding="utf-8"))["pid"]
    except OSError as error:
        return missing(subject, f"{lock}: {error.strerror}", "make the file yours, with chown")
    except (ValueError, KeyError, TypeError):
        return good(subject, "a server has it open")
    return good(subject, f"the Sophos with pid {pid} has it open")
