"""Design durability boundaries: a copy of a database that is in use, and is written meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lab.backup import copy_whole, row_counts
from lab.check import Outcome, Verdict, check
from lab.exercise import Exercise
from lab.moving import moving, torn

_CLAIM: Final = "a copy that is made while somebody writes has every row, as of one moment"
_NAME: Final = "exercise.db"
_MOVING: Final = "exercise-moving.db"
_PARTS: Final = ("", "-wal", "-shm", "-journal")


def _copies(backup: Callable[[Path, Path], Any], original: Path) -> Verdict:
    """Have `backup(original, copy)` make a copy beside the original, and count the rows of both.

    Nobody may write the original meanwhile. A second database is written at every step that the
    function takes: who copies its files one after the other has parts that do not belong together.
    """
    rows = row_counts(original)
    copy = _room(original, _NAME)
    backup(original, copy)
    if row_counts(original) != rows:
        return check(_CLAIM, faults=["the original is not what it was"])
    verdict = copy_whole(rows, row_counts(copy))
    if verdict.outcome is not Outcome.HOLDS:
        return replace(verdict, claim=_CLAIM)
    original, copy = _room(original, _MOVING), _room(original, _NAME)
    with moving(original):
        backup(original, copy)
    fault = torn(copy)
    return check(
        _CLAIM,
        faults=[f"with a writer at work the copy is torn: {fault}"] if fault else [],
        seen="each table has as many rows in the copy, and with a writer at work it is whole",
    )


def _room(beside: Path, name: str) -> Path:
    """Where a database can be made: nothing is left there of an earlier one."""
    path = beside.with_name(name)
    for part in _PARTS:
        path.with_name(name + part).unlink(missing_ok=True)
    return path


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
