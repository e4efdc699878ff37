"""Looking at a database changes nothing, whatever state its owner left it in."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from lab.snapshot import snapshot

WRITER = """
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("CREATE TABLE runs (n)")
connection.execute("INSERT INTO runs VALUES (1)")
connection.execute("BEGIN")
connection.execute("INSERT INTO runs VALUES (2)")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_in_a_transaction(path: Path) -> Path:
    subprocess.run([sys.executable, "-ISc", WRITER, str(path)], check=False)
    return path


def kept(path: Path) -> dict[str, bytes]:
    """What a recovery reads; the -shm file is an index that every reader may rebuild."""
    return {
        name.name: name.read_bytes() for name in path.parent.iterdir() if "shm" not in name.name
    }


def test_what_a_killed_owner_committed_is_read_and_its_files_stay_as_they_are(
    tmp_path: Path,
) -> None:
    path = killed_in_a_transaction(tmp_path / "x.db")
    before = kept(path)
    with snapshot(path) as read:
        assert [row["n"] for row in read("runs", "SELECT n FROM runs")] == [1]
    assert set(before) == {"x.db", "x.db-wal"}
    assert kept(path) == before


def test_all_that_is_read_is_of_one_moment_and_no_writer_waits(tmp_path: Path) -> None:
    path = killed_in_a_transaction(tmp_path / "x.db")
    with snapshot(path) as read, closing(sqlite3.connect(path, timeout=0)) as writer:
        read("runs", "SELECT * FROM runs")
        writer.execute("INSERT INTO runs VALUES (3)")
        writer.commit()
        assert len(read("runs", "SELECT * FROM runs")) == 1


def test_a_file_that_is_not_there_has_no_rows_and_is_not_made(tmp_path: Path) -> None:
    with snapshot(tmp_path / "none.db") as read:
        assert read("runs", "SELECT * FROM runs") == []
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_is_not_there_yet_has_no_rows(tmp_path: Path) -> None:
    path = killed_in_a_transaction(tmp_path / "x.db")
    with snapshot(path) as read:
        assert read("checkpoints", "SELECT * FROM checkpoints") == []
