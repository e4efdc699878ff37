"""Whether a copy of a database is one: its rows, counted, against those of the original.

Both are read and never written, as a reader of the copy would find them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lab.check import Verdict, check, counted
from lab.snapshot import snapshot

TABLES: Final = ("conversations", "runs", "checkpoints", "writes")


def row_counts(database: Path) -> dict[str, int]:
    """The rows of each of Sophos's tables; 0 for a table, or a file, that is not there."""
    with snapshot(database) as read:
        return {table: len(read(table, f"SELECT 1 FROM {table}")) for table in TABLES}  # noqa: S608 - a name of ours


def copy_whole(original: Mapping[str, int], copy: Mapping[str, int]) -> Verdict:
    """The copy has as many rows as the original, table by table."""
    faults = [
        f"{table}: {counted(rows, 'row')}, {copy.get(table, 0)} in the copy"
        for table, rows in original.items()
        if copy.get(table, 0) != rows
    ]
    return check(
        "the copy has every row",
        faults=faults,
        seen=f"{counted(sum(original.values()), 'row')} in {counted(len(original), 'table')}",
        missing=[] if any(original.values()) else ["a row of the original"],
    )
