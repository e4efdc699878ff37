"""A server that is told to stop at the very beginning."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from sophos.settings import Settings
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
