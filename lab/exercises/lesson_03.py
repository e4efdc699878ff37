"""Design durability boundaries: a copy of a database that is in use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lab.backup import copy_whole, row_counts
from lab.check import Outcome, Verdict, check
from lab.exercise import Exercise

_CLAIM: Final = "a copy that is made while the server works has every row"
_NAME: Final = "exercise.db"
_PARTS: Final = ("", "-wal", "-shm", "-journal")


def _copies(backup: Callable[[Path, Path], Any], original: Path) -> Verdict:
    """Have `backup(original, copy)` make a copy beside the original, and count the rows of both.

    Nobody may write the original meanwhile.
    """
    copy = original.with_name(_NAME)
    for part in _PARTS:
        copy.with_name(_NAME + part).unlink(missing_ok=True)
    rows = row_counts(original)
    backup(original, copy)
    if row_counts(original) != rows:
        return check(_CLAIM, faults=["the original is not what it was"])
    verdict = copy_whole(rows, row_counts(copy))
    if verdict.outcome is Outcome.HOLDS:
        return check(_CLAIM, seen="each table has as many rows in the copy")
    return replace(verdict, claim=_CLAIM)


EXERCISES: Final = (
    Exercise(
        name="03-1",
        claim=_CLAIM,
        judge=_copies,
        hints=(
            "The newest rows are not in the file that you copy. Who knows where they are?",
            "SQLite itself does. Open the original with it, and have it make the copy.",
            "A connection of Python's sqlite3 has a method backup, which takes another connection.",
        ),
    ),
)
