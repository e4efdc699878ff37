"""A disk that stands still: nobody can write a database for a while. The lock dies with its holder.

    with standstill(bench.workspace.database):
        …                                        who writes it waits, for as long as it has patience

It writes nothing itself. It is the only thing of the lab's that opens the file for writing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

WAIT: Final = 10.0  # seconds for a write that is under way


@contextmanager
def standstill(database: Path) -> Iterator[None]:
    """Hold the one right to write until the end of the block. Raises sqlite3.OperationalError."""
    uri = f"{database.resolve().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=WAIT)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
