"""A file that cannot be used is refused, with what is wrong and what to do, and left as it was."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from storage_rows import make_run, open_store

from sophos.errors import StartupError

CHILD = Path(__file__).with_name("storage_child.py")
NOBODY = 65534
GARBAGE = bytes(range(256)) * 64


async def open_and_close(folder: Path) -> None:
    async with open_store(folder):
        pass


def refusal(folder: Path) -> str:
    """Return the sentence a start-up is refused with; nothing may be left open or running."""
    before = set(threading.enumerate())
    with pytest.raises(StartupError) as caught:
        asyncio.run(open_and_close(folder))
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
    return caught.value.message


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}


def database(folder: Path, *, script: str = "", version: int | None = None) -> Path:
    if not script:
        asyncio.run(open_and_close(folder))
    file = folder / "sophos.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)
        if version is not None:
            connection.execute(f"PRAGMA user_version = {version}")
    return file


def damaged(start: int, garbage: bytes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        file = database(folder)
        whole = file.read_bytes()
        file.write_bytes(whole[:start] + garbage + whole[start + len(garbage) :])

    return damage


def cut(size: int) -> Callable[[Path], None]:
    return lambda folder: os.truncate(database(folder), size)


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda folder: (folder / "sophos.db").write_text("hello"), "not a database"),
    "garbage": (lambda folder: (folder / "sophos.db").write_bytes(GARBAGE), "not a database"),
    "torn header": (damaged(16, GARBAGE[:64]), "not a database"),
    "header cut off": (cut(50), "damaged"),
    "second half cut off": (cut(8192), "damaged"),
    "schema overwritten": (damaged(100, GARBAGE[:3000]), "damaged"),
    "newer": (lambda folder: database(folder, version=999), "newer version"),
    "foreign": (lambda folder: database(folder, script="CREATE TABLE t (x)"), "another program"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_an_unusable_file_is_refused_and_left_as_it_was(tmp_path: Path, case: str) -> None:
    make, says = UNUSABLE[case]
    make(tmp_path)
    before = contents(tmp_path)
    assert says in refusal(tmp_path)
    assert contents(tmp_path) == before


def test_a_newer_file_with_a_log_keeps_its_log(tmp_path: Path) -> None:
    file = database(tmp_path)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 999")
        # What a kill leaves: a log that no connection has copied into the file.
        left = contents(tmp_path)
    (tmp_path / "sophos.db-wal").write_bytes(left["sophos.db-wal"])
    file.write_bytes(left["sophos.db"])
    assert "newer version" in refusal(tmp_path)
    after = contents(tmp_path)
    assert (after["sophos.db"], after["sophos.db-wal"]) == (
        left["sophos.db"],
        left["sophos.db-wal"],
    )


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sophos.db").mkdir()
    assert "not a file" in refusal(tmp_path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    assert "DATABASE_PATH" in refusal(tmp_path / "data")
    assert "DATABASE_PATH" in refusal(tmp_path / "data" / "db")


def test_a_file_that_another_program_locked_is_refused(tmp_path: Path) -> None:
    file = database(tmp_path)
    before = file.read_bytes()
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "locked by another program" in refusal(tmp_path)
    assert file.read_bytes() == before


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder of a user without rights, and this process acting as that user if it is root."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.geteuid() == 0
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            Path(folder).chmod(0o700)
            if root:
                os.seteuid(0)


def test_a_file_that_cannot_be_written_is_refused(as_nobody: Path) -> None:
    database(as_nobody).chmod(0o400)
    before = contents(as_nobody)
    assert "cannot be written" in refusal(as_nobody)
    assert contents(as_nobody) == before


def test_a_folder_that_cannot_be_written_is_refused(as_nobody: Path) -> None:
    as_nobody.chmod(0o500)
    assert "permissions" in refusal(as_nobody)
    assert "permissions" in refusal(as_nobody / "data" / "db")
    assert contents(as_nobody) == {}


def test_a_full_disk_is_a_refusal_and_the_next_start_works(tmp_path: Path) -> None:
    child = [sys.executable, str(CHILD), "full", str(tmp_path)]
    said = subprocess.run(child, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "cannot be" in said
    assert "disk" in said
    asyncio.run(open_and_close(tmp_path))


def test_an_empty_file_becomes_a_database_and_a_second_opening_changes_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "sophos.db").touch()
    asyncio.run(open_and_close(tmp_path))
    first = contents(tmp_path)
    asyncio.run(open_and_close(tmp_path))
    assert contents(tmp_path) == first
    assert list(first) == ["sophos.db"]


def test_a_migration_that_fails_leaves_no_half_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = ("CREATE TABLE a (x);\nCREATE TABLE b (nonsense nonsense nonsense (;\n",)
    monkeypatch.setattr("sophos.storage.schema.migrations", lambda: scripts)
    refusal(tmp_path)
    monkeypatch.undo()
    asyncio.run(open_and_close(tmp_path))


def test_what_was_written_is_there_after_closing(tmp_path: Path) -> None:
    run = make_run(input='naïve \x00 "quotes" 🦉', idempotency_key="key")

    async def write() -> None:
        async with open_store(tmp_path) as store:
            await store.start(run)

    async def read() -> object:
        async with open_store(tmp_path) as store:
            return await store.runs.get(run.id)

    asyncio.run(write())
    assert asyncio.run(read()) == run
