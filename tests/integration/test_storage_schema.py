"""The SQL says what sophos/run.py says, and every statement finds its rows through an index."""

from __future__ import annotations

import asyncio
import re
from dataclasses import fields
from pathlib import Path

import pytest
from storage_rows import EARLY, LATE, Store, make_run, open_store

from sophos.run import ACTIVE, Run, RunKind, RunStatus
from sophos.storage.schema import migrations, statements

# Partial indexes: the rows they hold are the rows that are wanted.
FEW_ROWS = re.compile(r"USING (COVERING )?INDEX (runs_active|conversations_(deleted|uncounted)) --")


def words(column: str, script: str) -> list[set[str]]:
    lists = re.findall(rf"\b{column} IN \(([^)]*)\)", script)
    return [set(re.findall(r"'(\w+)'", text)) for text in lists]


def test_the_states_and_kinds_in_sql_are_those_of_the_code() -> None:
    script = "\n".join(migrations())
    every, *active = words("status", script)
    assert every == {status.value for status in RunStatus}
    assert active
    assert all(part == {status.value for status in ACTIVE} for part in active)
    assert words("kind", script) == [{kind.value for kind in RunKind}]


def test_a_row_of_runs_has_the_fields_of_a_run(tmp_path: Path) -> None:
    async def scenario() -> set[str]:
        async with open_store(tmp_path) as store:
            return {row["name"] for row in await store.database.read("PRAGMA table_info(runs)")}

    columns = asyncio.run(scenario())
    assert columns == {field.name for field in fields(Run)} | {"sequence", "idempotency_body"}


def test_a_half_statement_in_a_migration_is_refused() -> None:
    with pytest.raises(ValueError, match="SELECT 2"):
        list(statements("SELECT 1;\nSELECT 2"))


async def use_everything(store: Store) -> None:
    first = make_run(idempotency_key="key")
    await store.start(first)
    await store.runs.claim(run=first, title="Hello", body="")
    await store.runs.request_cancel(first.id, LATE)
    await store.runs.unfinished()
    await store.end(first)
    await store.runs.get(first.id)
    await store.runs.latest(first.conversation_id)
    await store.runs.of(first.conversation_id)
    await store.runs.after(first.conversation_id, first.id)
    await store.runs.repeated("key", "")
    await store.start(make_run())
    _, cursor = await store.conversations.page(1, None)
    await store.conversations.page(1, cursor)
    await store.conversations.uncounted()
    await store.conversations.recount(first.conversation_id, 2)
    await store.conversations.mark_deleted(first.conversation_id, EARLY)
    await store.conversations.deleted()
    await store.conversations.purge(first.conversation_id)


def test_no_statement_scans_a_table(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        said: list[str] = []
        async with open_store(tmp_path) as store:
            for connection in (store.database._reader, store.database._writer):
                await connection.set_trace_callback(said.append)
            await use_everything(store)
            seen = {sql for sql in said if re.match(r"\s*(SELECT|UPDATE|DELETE)", sql)}
            assert len(seen) > 15
            steps = []
            for sql in seen:
                plan = await store.database.read(f"EXPLAIN QUERY PLAN {sql}")
                steps += [f"{row['detail']} -- {sql}" for row in plan]
            return steps

    scans = [step for step in asyncio.run(scenario()) if re.match(r"SCAN (runs|conv)", step)]
    assert [step for step in scans if not FEW_ROWS.search(step)] == []


def test_the_list_is_read_in_the_order_of_its_index(tmp_path: Path) -> None:
    async def scenario() -> list[str]:
        said: list[str] = []
        async with open_store(tmp_path) as store:
            await store.start(make_run())
            await store.database._reader.set_trace_callback(said.append)
            await store.conversations.page(50, None)
            plan = await store.database.read(f"EXPLAIN QUERY PLAN {said[0]}")
            return [row["detail"] for row in plan]

    steps = asyncio.run(scenario())
    assert steps[0].startswith("SEARCH conversations USING INDEX conversations_newest")
    assert not [step for step in steps if "TEMP B-TREE" in step or step.startswith("SCAN runs")]
