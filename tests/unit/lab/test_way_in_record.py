"""The doctor looks at the database: whole, of which format, whose; and leaves no file behind."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from lab.finding import Finding, Verdict
from lab.lockfile import hold
from lab.record import APPLICATION_ID, database
from sophos.storage import schema

MIGRATIONS: Final = Path(schema.__file__).parent / "migrations"
NEWEST: Final = len(schema.migrations())


def look(path: Path) -> dict[str, Finding]:
    return {finding.subject: finding for finding in database(path, MIGRATIONS)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of Sophos's, of the newest format, that nobody has open."""
    made = tmp_path / "sophos.db"
    with closing(sqlite3.connect(made)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE runs (id TEXT PRIMARY KEY)")
        connection.execute(f"PRAGMA user_version = {NEWEST}")
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
    return made


def test_a_database_that_is_not_there_yet_is_good(tmp_path: Path) -> None:
    assert [finding.verdict for finding in look(tmp_path / "no.db").values()] == [Verdict.GOOD]


def test_a_whole_one_is_good_and_looking_leaves_no_file(path: Path) -> None:
    assert APPLICATION_ID == schema.APPLICATION_ID
    found = look(path)
    assert list(found) == ["Database", "Database format", "Database owner"]
    assert {finding.verdict for finding in found.values()} == {Verdict.GOOD}
    assert list(path.parent.iterdir()) == [path]


def test_one_that_is_being_written_is_looked_at_too(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO runs VALUES ('a')")
        assert look(path)["Database"].verdict is Verdict.GOOD


def test_its_owner_is_named(path: Path) -> None:
    lock = path.with_name("sophos.db.lock")
    with hold(lock):
        lock.write_text(json.dumps({"pid": 4711}), encoding="utf-8")
        assert "pid 4711" in look(path)["Database owner"].seen
    assert look(path)["Database owner"].seen == "no server has it open"


def test_a_damaged_one_is_told_with_a_remedy(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO runs VALUES (?)", [(f"{n:0900}",) for n in range(200)])
    content = bytearray(path.read_bytes())
    content[20_480:24_576] = bytes(4096)
    path.write_bytes(content)
    finding = look(path)["Database"]
    assert finding.verdict is Verdict.MISSING
    assert "backup" in finding.remedy


def test_what_is_no_database_is_told_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "sophos.db"
    path.write_bytes(b"no database at all" * 100)
    finding = look(path)["Database"]
    assert finding.verdict is Verdict.MISSING
    assert "backup" in str(finding)


@pytest.mark.parametrize(
    ("pragma", "verdict", "told"),
    [
        (f"user_version = {NEWEST + 1}", Verdict.MISSING, "newer version"),
        (f"user_version = {NEWEST - 1}", Verdict.NOTE, "next start"),
        ("application_id = 1", Verdict.MISSING, "another file"),
    ],
)
def test_another_format_is_told(path: Path, pragma: str, verdict: Verdict, told: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA {pragma}")
    finding = look(path)["Database format"]
    assert finding.verdict is verdict
    assert told in finding.remedy
