"""What the agent relies on in its tools: the double and the real toolbox, through the same suite."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from toolboxes import configure, small, toolbox_in

from sophos.errors import ToolsUnavailable
from sophos.testing.tools import ScriptedTools, scripted
from sophos.tool import Tools

Opens = Callable[[], AbstractAsyncContextManager[Tools]]
STRINGS = {"type": "object", "properties": {"text": {"type": "string"}}}


async def _hang(_: Any) -> str:
    await asyncio.Event().wait()
    return "never"


def _fail(_: Any) -> str:
    raise ValueError("it failed")


def _act(args: Any) -> str | Awaitable[str]:
    match args.get("then"):
        case "hang":
            return _hang(args)
        case "fail":
            return _fail(args)
    return f"add {args.get('text')}"


@asynccontextmanager
async def double(_: Path) -> AsyncIterator[Tools]:
    yield ScriptedTools(
        scripted("lab__wipe", "gone", destructive=True, needs_approval=True),
        scripted("lab__add", _act, schema=STRINGS),
        scripted("lab__look", _act, schema=STRINGS, read_only=True),
    )


@asynccontextmanager
async def real(folder: Path) -> AsyncIterator[Tools]:
    async with toolbox_in(folder, {"lab": small(folder / "journal")}) as toolbox:
        yield toolbox


@pytest.fixture(params=[double, real], ids=["double", "real"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Opens:
    return lambda: request.param(tmp_path)


def test_an_offer_lists_every_tool_once_and_in_order(opens: Opens) -> None:
    async def scenario() -> None:
        async with opens() as tools:
            names = [tool.name for tool in (await tools.offer()).tools]
            assert names == sorted(set(names))
            assert {"lab__add", "lab__look", "lab__wipe"} <= set(names)

    asyncio.run(scenario())


def test_an_offer_says_what_a_tool_may_do(opens: Opens) -> None:
    async def scenario() -> None:
        async with opens() as tools:
            offered = {tool.name: tool for tool in (await tools.offer()).tools}
            assert offered["lab__look"].read_only
            assert offered["lab__wipe"].needs_approval
            assert not offered["lab__add"].needs_approval
            assert offered["lab__add"].schema["properties"]["text"] == {"type": "string"}

    asyncio.run(scenario())


def test_offers_at_the_same_time_agree(opens: Opens) -> None:
    async def scenario() -> None:
        async with opens() as tools:
            first, *others = await asyncio.gather(*(tools.offer() for _ in range(5)))
            assert all(other == first for other in others)

    asyncio.run(scenario())


def test_to_begin_changes_nothing_of_what_is_offered(opens: Opens) -> None:
    async def scenario() -> None:
        async with opens() as tools:
            await tools.begin()
            offer = await tools.offer()
            await tools.begin()
            assert await tools.offer() == offer

    asyncio.run(scenario())


def test_a_call_gives_text(opens: Opens) -> None:
    async def scenario() -> None:
        async with opens() as tools:
            result = await tools.call("lab__add", {"text": "milk"}, key="thread:1")
            assert result.status == "success"
            assert "milk" in result.text

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("lab__add", {"then": "fail"}),
        ("lab__nothing", {}),
        ("nowhere__add", {}),
        ("add", {}),
        ("", {}),
        ("lab__add", {"text": {1, 2}}),
        ("lab__add", {"text": float("nan")}),
    ],
)
def test_whatever_goes_wrong_is_an_error_result(opens: Opens, name: str, args: Any) -> None:
    async def scenario() -> None:
        async with opens() as tools:
            result = await tools.call(name, args, key="thread:1")
            assert result.status == "error"
            assert result.text
            assert (await tools.call("lab__look", {}, key="thread:2")).status == "success"

    asyncio.run(scenario())


def test_a_cancelled_call_raises_and_harms_nothing(opens: Opens) -> None:
    async def scenario() -> None:
        async with opens() as tools:
            await tools.offer()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await tools.call("lab__look", {"then": "hang"}, key="thread:1")
            assert (await tools.call("lab__look", {}, key="thread:2")).status == "success"

    asyncio.run(scenario())


def test_tools_that_cannot_be_had_say_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        configure(tmp_path, {"lab": {"command": sys.executable + "-that-is-not-there"}})
        async with toolbox_in(tmp_path, environment={"PATH": os.defpath}) as toolbox:
            for tools in (toolbox, ScriptedTools(unavailable="lab is down")):
                with pytest.raises(ToolsUnavailable, match="lab"):
                    await tools.offer()

    asyncio.run(scenario())
