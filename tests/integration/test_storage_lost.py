"""A file that cannot keep anything any more: nothing is acknowledged, and readyz says why."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from runtime_parts import House, ending, outcome, scenario, watch
from runtime_parts import say as send

from lab.model.script import call, say
from sophos.errors import StorageUnavailable
from sophos.run import RunStatus
from sophos.runtime.lifecycle import open_runtime
from sophos.settings import Settings

WITHIN: Final = 90.0  # seconds for the child, imports included; only a fault is that long
_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["sophos.runtime.agent_stack"])


def move(file: Path) -> None:
    file.rename(aside(file))


def replace(file: Path) -> None:
    move(file)
    shutil.copy(aside(file), file)


def aside(file: Path) -> Path:
    return file.with_name(file.name + ".aside")


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".lock"])
@pytest.mark.parametrize("take", [move, replace])
def test_a_message_is_refused_while_another_file_or_none_is_at_the_path(
    house: House, take: Callable[[Path], None], suffix: str
) -> None:
    file = house.database.with_name(house.database.name + suffix)

    async def work() -> None:
        async with house.open() as runtime:
            take(file)
            with pytest.raises(StorageUnavailable, match="moved, replaced or deleted"):
                await send(runtime, "hello")
            readiness = await runtime.readiness()
            assert not readiness.ready
            assert "put the file back" in readiness.checks["storage"]
            aside(file).rename(file)
            assert (await runtime.readiness()).checks["storage"] == "ok"
            assert (await outcome(runtime, await send(runtime, "hello"))).error_code is None
        assert house.statuses() == ["completed"]

    scenario(work())


def test_what_was_refused_is_not_there_when_the_file_is_back(house: House) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            move(house.database)
            with pytest.raises(StorageUnavailable):
                await runtime.start_message("hello", conversation=None, key="once")
            aside(house.database).rename(house.database)
            assert not (await runtime.conversations(limit=10, before=None)).conversations

    scenario(work())


def test_steps_that_are_asked_for_while_the_file_is_away_put_no_empty_one_in_its_place(
    house: House,
) -> None:
    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "hello")
            await outcome(runtime, started)
            move(house.database)
            with pytest.raises(StorageUnavailable, match="put the file back"):
                [found async for found in await runtime.checkpoints(started.conversation)]
            assert not house.database.exists()
            assert (await runtime.conversation(started.conversation)).messages

    scenario(work())


def test_a_run_ends_with_a_clear_error_at_its_next_write_and_is_resumable_after_a_restart(
    house: House,
) -> None:
    house.model.script([[call("lab__add", text="one")], [say("Done.")]])
    house.model.hold(1)

    async def work() -> None:
        async with house.open() as runtime:
            started = await send(runtime, "Add")
            await asyncio.to_thread(house.model.wait_held)
            move(house.database)
            house.model.release()
            assert ending(await watch(runtime, started.conversation)) == "STORAGE_UNAVAILABLE"
            assert house.effects == []  # the step before the call was not kept: no call
        aside(house.database).rename(house.database)
        async with house.open("boot-2") as runtime:
            run = await runtime.run(started.run)
            assert run.status is RunStatus.INTERRUPTED
            assert (await runtime.conversation(started.conversation)).resumable

    scenario(work())


def fill(settings: Settings, report: Path) -> None:
    """In a process of its own: its files cannot grow, which is what a full disk comes down to."""
    told = asyncio.run(_fill(settings))
    report.write_text(json.dumps(told), encoding="utf-8")


async def _fill(settings: Settings) -> dict[str, Any]:
    told: dict[str, Any] = {}
    async with open_runtime(settings, boot_id="full") as runtime:
        await runtime.agent()
        log = settings.database_path.with_name(settings.database_path.name + "-wal")
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, usual[1]))
        told["full"] = (await runtime.readiness()).checks["storage"]
        try:
            await runtime.start_message("hello", conversation=None, key=None)
        except StorageUnavailable as error:
            told["refused"] = error.code
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        told["again"] = (await runtime.readiness()).checks["storage"]
        told["listed"] = len((await runtime.conversations(limit=9, before=None)).conversations)
    return told


def test_a_full_disk_is_not_ready_and_takes_no_message_until_there_is_room(house: House) -> None:
    report = house.folder / "report.json"
    child = _FORKS.Process(target=fill, args=(house.settings(), report), daemon=True)
    child.start()
    child.join(WITHIN)
    assert child.exitcode == 0
    told = json.loads(report.read_text(encoding="utf-8"))
    assert told == {
        "full": StorageUnavailable().message,
        "refused": "STORAGE_UNAVAILABLE",
        "again": "ok",
        "listed": 0,
    }
