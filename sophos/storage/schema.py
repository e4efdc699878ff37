"""What a file holds, told without touching it, and the migrations that bring it up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

import aiosqlite

from sophos.errors import StartupError

APPLICATION_ID: Final = 0x534F5048  # "SOPH": what tells our files from another program's


@cache
def migrations() -> tuple[str, ...]:
    """The scripts in order; the version of a file is the number of those it has had."""
    folder = files("sophos.storage") / "migrations"
    scripts = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    return tuple(
        file.read_text(encoding="utf-8") for file in sorted(scripts, key=lambda file: file.name)
    )


def inspect(path: Path) -> None:
    """Refuse a file that is damaged, another program's, or of a newer version, and leave it as it is.

    Raises StartupError or sqlite3.Error. No file, or an empty one, is fine.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    # Without a write-ahead log nothing but the file itself counts, and `immutable` reads it without
    # making a log. With one, the newest version may stand in the log alone.
    log = path.with_name(path.name + "-wal")
    immutable = "" if log.exists() and log.stat().st_size else "&immutable=1"
    # Never open the file by any other way than SQLite's: closing it would drop SQLite's own locks.
    uri = f"{path.as_uri()}?mode=ro{immutable}"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != APPLICATION_ID and (application or version or objects):
        raise StartupError(
            f"{path} is the database of another program. Set DATABASE_PATH to another file."
        )
    if version > len(migrations()):
        raise StartupError(
            f"{path} was written by a newer version of Sophos (its format is {version}, this"
            f" version knows {len(migrations())}). Start the newer version, or set DATABASE_PATH"
            " to another file."
        )


async def migrate(connection: aiosqlite.Connection) -> None:
    """Apply what is missing, each script in a transaction with its version number.

    Takes the write lock even if nothing is missing: a file that another program has locked raises
    sqlite3.Error now. On any exception close the connection: that rolls back.
    """
    for number, script in enumerate(migrations(), start=1):
        await connection.execute_fetchall("BEGIN IMMEDIATE")
        [(version,)] = await connection.execute_fetchall("PRAGMA user_version")
        if version < number:
            for statement in statements(script):
                await connection.execute_fetchall(statement)
            await connection.execute_fetchall(f"PRAGMA user_version = {number}")
            await connection.execute_fetchall(f"PRAGMA application_id = {APPLICATION_ID}")
        await connection.commit()


def statements(script: str) -> Iterator[str]:
    """Split a script; the last statement must end with a semicolon, and nothing may follow it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        raise ValueError(f"A migration ends in the middle of a statement: {statement!r}")
