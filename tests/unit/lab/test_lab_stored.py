"""What a thread costs on disk is counted by turn and by text; a held file is held for all."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from lab.standstill import standstill
from lab.stored import bytes_by_turn, stored_copies


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "sophos.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE checkpoints (thread_id TEXT, checkpoint BLOB)")
        connection.execute("CREATE TABLE writes (thread_id TEXT, value BLOB)")
        rows = [("a", b"\x00a page\x00"), ("a", b"other"), ("b", b"a page")]
        connection.executemany("INSERT INTO checkpoints VALUES (?, ?)", rows)
        connection.executemany("INSERT INTO writes VALUES (?, ?)", [*rows, ("a", None)])
    return path


def test_a_turn_s_bytes_are_its_checkpoints_and_the_writes_on_them() -> None:
    checkpoints = pd.DataFrame(
        {"id": ["x", "y", "z"], "source": ["input", "loop", "input"], "bytes": [1, 2, 4]}
    )
    writes = pd.DataFrame({"checkpoint": ["x", "z", "y"], "bytes": [10, 20, 40]})
    assert bytes_by_turn(checkpoints, writes).to_dict() == {1: 53, 2: 24}


def test_a_text_is_counted_in_every_row_of_its_thread_and_of_no_other(database: Path) -> None:
    assert stored_copies(database, "a", "a page") == 2
    assert stored_copies(database, "a", "no such text") == 0
    assert stored_copies(database.with_name("none.db"), "a", "a page") == 0


def test_nobody_writes_while_the_file_is_held_and_everybody_reads(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None, timeout=0)) as other:
        with standstill(database):
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("DELETE FROM writes")
            assert other.execute("SELECT count(*) FROM writes").fetchone() == (4,)
        assert other.execute("DELETE FROM writes").rowcount == 4


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError), standstill(tmp_path / "none.db"):
        pass
    assert not list(tmp_path.iterdir())
