"""A server that is told to stop: at the very beginning, and with its ready file out of its hands."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import pytest

from sophos.settings import Settings
from sophos.testing.runtime import ScriptedRuntime
from sophos.web.listener import listen
from sophos.web.opened import Runtime
from sophos.web.server import Service


async def never(_: Settings, __: str) -> AbstractAsyncContextManager[Runtime]:
    pytest.fail("The runtime is opened although the server was told to stop before.")


def test_a_stop_before_the_first_line_of_what_opens_the_runtime_ends_it_all() -> None:
    async def scenario() -> None:
        service = Service(Settings(), listen("127.0.0.1", 0), "boot")
        running = asyncio.create_task(service.run(never))
        await asyncio.sleep(0)  # it has made its tasks, and none of them has begun
        service.stop()
        async with asyncio.timeout(20):
            await running

    asyncio.run(scenario())


@pytest.mark.parametrize("becomes", ["a folder", "no text", "nothing"])
def test_a_stop_goes_on_whatever_has_become_of_the_ready_file(tmp_path: Path, becomes: str) -> None:
    ready = tmp_path / "ready.json"
    scripted = ScriptedRuntime()

    async def opening(_: Settings, __: str) -> AbstractAsyncContextManager[Runtime]:
        return nullcontext(scripted)

    async def scenario() -> None:
        service = Service(Settings(ready_file=ready), listen("127.0.0.1", 0), "boot")
        running = asyncio.create_task(service.run(opening))
        while not ready.exists():  # noqa: ASYNC110 - the fact is a file
            await asyncio.sleep(0)
        ready.unlink()
        if becomes == "a folder":
            ready.mkdir()
        elif becomes == "no text":
            ready.write_bytes(b"\xff")
        service.stop()
        await running

    asyncio.run(scenario())
    assert ready.exists() == (becomes != "nothing")
