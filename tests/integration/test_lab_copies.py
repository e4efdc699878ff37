"""The search for a text by its bytes: in what files say, and in what a database no longer says."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lab.bench import Bench
from lab.check import Outcome
from lab.copies import copies, in_free_pages, nowhere

FACT = "the heliotrope stands in a pot behind the blue door"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench on which nothing was started: its files alone."""
    with Bench("05", root=tmp_path) as bench:
        yield bench


def write(bench: Bench, name: str, text: str) -> None:
    (bench.workspace.directory / name).write_text(text, encoding="utf-8")


def test_each_file_that_holds_the_text_is_named_with_who_keeps_it(bench: Bench) -> None:
    write(bench, "memory/memory.jsonl", f"{FACT}\n{FACT}")
    write(bench, "processes/model.requests.jsonl", f'"{FACT}"')
    write(bench, "processes/server#1.log", "nothing of it")
    found = copies(bench, FACT, raw=True)
    assert list(found["file"]) == ["memory/memory.jsonl", "processes/model.requests.jsonl"]
    assert list(found["times"]) == [2, 1]
    assert found["kept_by"][0].startswith("Memory server")


def test_a_row_that_was_deleted_is_found_by_its_bytes(bench: Bench) -> None:
    with closing(sqlite3.connect(bench.workspace.database)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        with database:
            database.execute("CREATE TABLE facts (text)")
            database.execute("INSERT INTO facts VALUES (?)", (FACT,))
        with database:
            database.execute("DELETE FROM facts")
        assert database.execute("SELECT * FROM facts").fetchall() == []
        assert list(copies(bench, FACT)["file"]) == ["db/sophos.db-wal"]


def test_a_text_is_nowhere_only_if_the_search_finds_what_is_there(bench: Bench) -> None:
    assert nowhere(bench, FACT, known="mcpServers").outcome is Outcome.HOLDS
    assert nowhere(bench, FACT, known="what nobody wrote").outcome is Outcome.UNKNOWN
    assert nowhere(bench, "", known="mcpServers").outcome is Outcome.UNKNOWN


def test_part_of_a_text_is_a_copy_and_its_file_is_named(bench: Bench) -> None:
    write(bench, "site.jsonl", "they say heliotrope stands in a pot behind the blue window")
    verdict = nowhere(bench, FACT, known="mcpServers")
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == ("site.jsonl holds 'heliotrope stands in a pot behind the blue'",)


def test_a_search_can_be_held_to_some_of_the_files(bench: Bench) -> None:
    write(bench, "site.jsonl", f"a visit, and {FACT}")
    write(bench, "db/other", "a visit")
    assert nowhere(bench, FACT, known="a visit", within="db/").outcome is Outcome.HOLDS
    assert nowhere(bench, FACT, known="a visit", within="site").outcome is Outcome.VIOLATED


@pytest.mark.parametrize("erase", [True, False])
def test_free_pages_keep_what_was_deleted_unless_it_is_overwritten(
    bench: Bench, erase: bool
) -> None:
    with closing(sqlite3.connect(bench.workspace.database, isolation_level=None)) as database:
        database.execute(f"PRAGMA secure_delete = {erase}")
        database.execute("CREATE TABLE facts (text)")
        database.executemany("INSERT INTO facts VALUES (?)", [(FACT * 100,)] * 9)
        assert not in_free_pages(bench.workspace.database, FACT)
        database.execute("DELETE FROM facts")
        assert in_free_pages(bench.workspace.database, FACT) != erase
        database.execute("VACUUM")
        assert not in_free_pages(bench.workspace.database, FACT)
