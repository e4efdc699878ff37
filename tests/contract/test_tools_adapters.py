"""What the field's own adapter for LangChain reads from a tool server, our toolbox reads too."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from toolboxes import toolbox_in

PROJECT = Path(__file__).parents[2]


def tracker(database: Path) -> dict[str, Any]:
    args = ["-m", "lab.tasks", "--database", str(database)]
    return {"command": sys.executable, "args": args, "cwd": str(PROJECT)}


def adapters(server: dict[str, Any]) -> MultiServerMCPClient:
    connection: Any = {"transport": "stdio", **server}
    return MultiServerMCPClient({"tasks": connection})


def test_both_list_the_same_tools_with_the_same_arguments(tmp_path: Path) -> None:
    server = tracker(tmp_path / "tasks.db")

    async def scenario() -> None:
        client = adapters(server)
        theirs = {f"tasks__{tool.name}": tool for tool in await client.get_tools()}
        async with toolbox_in(tmp_path, {"tasks": server}) as toolbox:
            ours = {tool.name: tool for tool in (await toolbox.offer()).tools}
        assert set(ours) == set(theirs)
        for name, tool in ours.items():
            offered = dict(theirs[name].args)
            offered.pop("idempotency_key", None)  # the runtime's to fill, never the model's
            assert set(tool.schema["properties"]) == set(offered)
            assert tool.description == theirs[name].description

    asyncio.run(scenario())


def test_both_read_the_same_result_of_the_same_call(tmp_path: Path) -> None:
    server = tracker(tmp_path / "tasks.db")

    async def scenario() -> None:
        client = adapters(server)
        theirs = {tool.name: tool for tool in await client.get_tools()}
        async with toolbox_in(tmp_path, {"tasks": server}) as toolbox:
            ours = await toolbox.call("tasks__create_task", {"title": "water"}, key="k")
            listed = await toolbox.call("tasks__list_tasks", {}, key="k")
        [block] = await theirs["list_tasks"].ainvoke({})
        assert (ours.text, ours.status) == ("Created task 1: water", "success")
        assert block["text"] == listed.text == "1: water"

    asyncio.run(scenario())
