"""The two servers Sophos comes with, as set-up installs them and as config/mcp.json describes them."""

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

from toolboxes import configure, toolbox_in

from sophos.protections import Protections
from sophos.tool import Tool
from sophos.tools.toolbox import open_toolbox

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (
    b"<html><body><article><h1>Owls</h1><p>They hunt at night.</p></article></body></html>"
)


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = self.path == "/owls"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE if found else b"")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def site() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def described(folder: Path) -> None:
    """config/mcp.json for another folder; Fetch may read this machine, as the lab's may."""
    text = (ROOT / "config" / "mcp.json").read_text(encoding="utf-8")
    text = text.replace("${CONFIG_DIR}/..", str(ROOT)).replace('"../', f'"{ROOT}/')
    servers = json.loads(text)["mcpServers"]
    servers["fetch"]["args"] = ["--allow-private-ips"]
    configure(folder, servers)


def test_ten_tools_are_discovered_and_say_what_they_do(tmp_path: Path) -> None:
    async def scenario() -> list[Tool]:
        async with open_toolbox(
            config_dir=ROOT / "config",
            memory_file=tmp_path / "memory" / "memory.jsonl",
            environment={"PATH": os.defpath},
            tool_timeout=30,
            result_limit=1000,
            protections=Protections(),
        ) as toolbox:
            return list((await toolbox.offer()).tools)

    tools = {tool.name: tool for tool in asyncio.run(scenario())}
    assert len(tools) == 10
    assert {name for name in tools if tools[name].destructive} == {
        *("memory__delete_entities", "memory__delete_observations", "memory__delete_relations")
    }
    assert tools["fetch__fetch"].read_only
    assert not tools["memory__create_entities"].idempotent


def test_the_walk_through_the_two_servers(tmp_path: Path) -> None:
    described(tmp_path)

    async def scenario() -> None:
        async with toolbox_in(tmp_path) as toolbox:
            with site() as url:
                page = await toolbox.call("fetch__fetch", {"url": f"{url}/owls"}, key="1")
            assert (page.status, "They hunt at night." in page.text) == ("success", True)
            observations = [{"entityName": "owl", "contents": ["hunts at night"]}]
            missing = await toolbox.call(
                "memory__add_observations", {"observations": observations}, key="2"
            )
            assert (missing.status, missing.text) == ("error", "Entity with name owl not found")
            entity = {"name": "owl", "entityType": "bird", "observations": ["hunts at night"]}
            made = await toolbox.call("memory__create_entities", {"entities": [entity]}, key="3")
            assert made.status == "success"

    asyncio.run(scenario())
    written = (tmp_path / "memory" / "memory.jsonl").read_text(encoding="utf-8")
    assert json.loads(written)["name"] == "owl"
    # With a Node in its PATH, Fetch's HTML reader runs `npm install` on its first page, and npm's
    # words go to standard output, in the middle of the protocol.
    [reader] = (ROOT / ".mcp-servers" / "fetch").rglob("readabilipy/javascript")
    assert not (reader / "node_modules").exists()
