"""A database that is written again whenever Python takes a step: a copy of it is of one moment, or torn.

    with moving(path):
        backup(path, copy)
    torn(copy)                          "" or what is wrong with it

Who copies a file and then its log has another moment in each, every time and not by bad luck: the
writer is not another process, which might miss the gap, but whatever runs between two lines.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

# Rows, each on a page of its own. A beat changes one, so the newest beats are all there, in a row.
SLOTS: Final = 16
BEATS: Final = 4  # before the log goes into the file, and again after it
STEPS: Final = 2000  # of Python; then it stands still, for a copy that begins anew at each change
_WIDE: Final = 3000  # bytes of a row: more than half a page
_SCHEMA: Final = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;
CREATE TABLE pulse (slot INTEGER PRIMARY KEY, beat INTEGER, wide TEXT);
"""


@contextmanager
def moving(path: Path) -> Iterator[None]:
    """A new database there, written at each step that this thread takes within the block."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as database:
        database.executescript(_SCHEMA)
        rows = [(number % SLOTS, number, "x" * _WIDE) for number in range(SLOTS)]
        database.executemany("INSERT INTO pulse VALUES (?, ?, ?)", rows)
        beat, steps = SLOTS - 1, 0

        def write() -> None:
            nonlocal beat
            for _ in range(BEATS):
                database.execute(
                    "UPDATE pulse SET beat = ? WHERE slot = ?", (beat + 1, (beat + 1) % SLOTS)
                )
                beat += 1

        def step(_: FrameType, __: str, ___: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps <= STEPS:
                try:
                    write()
                    database.execute("PRAGMA wal_checkpoint(PASSIVE)")
                    write()
                except sqlite3.OperationalError:
                    pass  # somebody holds the right to write: that is one way to make it stand still
            return step

        traced = sys.gettrace()
        sys.settrace(step)
        try:
            yield
        finally:
            sys.settrace(traced)


def torn(copy: Path) -> str:
    """What shows that a copy of such a database is no state that it ever had, or ""."""
    try:
        with closing(sqlite3.connect(copy)) as database:
            beats = sorted(beat for (beat,) in database.execute("SELECT beat FROM pulse"))
    except sqlite3.DatabaseError as error:
        return f"it cannot be read: {error}"
    newest = _in_a_row(beats)
    if newest == SLOTS:
        return ""
    return f"of the {SLOTS} newest writes it has {newest}: its parts are of different moments"


def _in_a_row(beats: list[int]) -> int:
    """How many of the newest follow one another."""
    return next((n for n, beat in enumerate(reversed(beats)) if beat != beats[-1] - n), len(beats))
