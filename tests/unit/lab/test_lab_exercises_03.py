"""The exercise of lesson 03 tells a copy from a file that only looks like one."""

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from lab.backup import TABLES
from lab.check import Outcome
from lab.exercise import exercise


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Path]:
    """A database with a row in each table, all of them still in its write-ahead log."""
    path = tmp_path / "used.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table} (id TEXT)")
            connection.execute(f"INSERT INTO {table} VALUES ('x')")
        yield path


def whole(original: Path, copy: Path) -> None:
    with closing(sqlite3.connect(original)) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)


def test_a_copy_by_sqlite_has_every_row(used: Path) -> None:
    for _ in range(2):
        assert exercise("03-1", whole, used).outcome is Outcome.HOLDS


def test_a_copy_of_the_file_lacks_what_is_in_the_log(used: Path) -> None:
    verdict = exercise("03-1", shutil.copy, used)
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings[1] == "runs: 1 row, 0 in the copy"


def by_hand(original: Path, copy: Path, parts: Sequence[str]) -> None:
    for part in parts:
        shutil.copy(f"{original}{part}", f"{copy}{part}")


@pytest.mark.parametrize("parts", [("", "-wal"), ("-wal", ""), ("", "-wal", "-shm")])
def test_file_and_log_copied_one_after_the_other_are_of_different_moments(
    used: Path, parts: Sequence[str]
) -> None:
    verdict = exercise("03-1", lambda original, copy: by_hand(original, copy, parts), used)
    assert verdict.outcome is Outcome.VIOLATED
    assert "different moments" in verdict.findings[0]


def test_by_hand_will_do_where_nobody_can_write_meanwhile(used: Path) -> None:
    def locked(original: Path, copy: Path) -> None:
        with closing(sqlite3.connect(original, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            by_hand(original, copy, ("", "-wal"))

    assert exercise("03-1", locked, used).outcome is Outcome.HOLDS


def test_a_copy_that_begins_anew_at_each_write_comes_to_its_end(used: Path) -> None:
    def by_page(original: Path, copy: Path) -> None:
        with closing(sqlite3.connect(original)) as old, closing(sqlite3.connect(copy)) as new:
            old.backup(new, pages=1, progress=lambda *_: None)

    assert exercise("03-1", by_page, used).outcome is Outcome.HOLDS


def test_a_copy_that_is_not_made_or_that_empties_the_original_is_wrong(used: Path) -> None:
    def empties(original: Path, copy: Path) -> None:
        whole(original, copy)
        with closing(sqlite3.connect(original, isolation_level=None)) as connection:
            connection.execute("DELETE FROM runs")

    assert exercise("03-1", lambda *_: None, used).outcome is Outcome.VIOLATED
    verdict = exercise("03-1", empties, used)
    assert verdict.findings == ("the original is not what it was",)


def test_without_a_row_nobody_can_tell(tmp_path: Path) -> None:
    assert exercise("03-1", whole, tmp_path / "nothing.db").outcome is Outcome.UNKNOWN
