"""A record whose bytes are those of something else: told of as damage, by every way to read it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any, Final

import pytest
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from runtime_parts import House, outcome, scenario
from runtime_parts import say as send

from sophos.errors import RecordDamaged

CHECKPOINT: Final[dict[str, Any]] = {
    "v": 4,
    "id": "1",
    "ts": "2026-01-01T00:00:00+00:00",
    "channel_values": {},
    "channel_versions": {},
    "versions_seen": {},
}
WRONG: Final = {
    "a list": [],
    "empty": {},
    "an id that is a number": CHECKPOINT | {"id": 1},
    "values that are a list": CHECKPOINT | {"channel_values": []},
    "a task that is a number": CHECKPOINT | {"channel_values": {"__pregel_tasks": [1]}},
    "versions that are text": CHECKPOINT | {"channel_versions": "1"},
}


MESSAGES: Final = "channel = 'messages' AND value IS NOT NULL"


def encoded(value: Any) -> tuple[str, bytes]:
    return JsonPlusSerializer().dumps_typed(value)


def change(house: House, sql: str, *values: Any) -> None:
    with closing(sqlite3.connect(house.database, isolation_level=None)) as connection:
        assert connection.execute(sql, values).rowcount > 0


async def written(house: House) -> str:
    """A conversation with an answer, on disk."""
    async with house.open() as runtime:
        started = await send(runtime, "First")
        await outcome(runtime, started)
    return started.conversation


async def see_damage(house: House, thread: str) -> None:
    async with house.open("boot-2") as runtime:
        with pytest.raises(RecordDamaged):
            await runtime.conversation(thread)
        with pytest.raises(RecordDamaged):
            [found async for found in await runtime.checkpoints(thread)]
        run = await outcome(runtime, await send(runtime, "Second", thread))
        assert (run.error_code, run.error_message) == (RecordDamaged.code, RecordDamaged().message)
        assert (await outcome(runtime, await send(runtime, "Third"))).error_code is None
        await runtime.delete_conversation(thread)


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG.keys())
def test_a_checkpoint_that_is_another_value_is_damage(house: House, value: Any) -> None:
    async def work() -> None:
        thread = await written(house)
        change(house, "UPDATE checkpoints SET type = ?, checkpoint = ?", *encoded(value))
        await see_damage(house, thread)

    scenario(work())


@pytest.mark.parametrize("value", ["[]", "3", '{"step": "one"}', '{"run_id": 5}', '{"source": {}}'])
def test_metadata_that_is_another_value_is_damage(house: House, value: str) -> None:
    async def work() -> None:
        thread = await written(house)
        change(house, "UPDATE checkpoints SET metadata = ?", value)
        await see_damage(house, thread)

    scenario(work())


@pytest.mark.parametrize("value", [5, [5], "text", {"id": "x"}, [None]], ids=repr)
def test_a_message_that_is_another_value_is_damage(house: House, value: Any) -> None:
    async def work() -> None:
        thread = await written(house)
        change(house, f"UPDATE writes SET type = ?, value = ? WHERE {MESSAGES}", *encoded(value))
        await see_damage(house, thread)

    scenario(work())


def test_a_message_of_a_kind_that_no_run_writes_is_damage(house: House) -> None:
    async def work() -> None:
        thread = await written(house)
        foreign = encoded([SystemMessage("Be brief.", id="x")])
        change(house, f"UPDATE writes SET type = ?, value = ? WHERE {MESSAGES}", *foreign)
        async with house.open("boot-2") as runtime:
            with pytest.raises(RecordDamaged):
                await runtime.conversation(thread)
            with pytest.raises(RecordDamaged):
                [found async for found in await runtime.checkpoints(thread)]

    scenario(work())
