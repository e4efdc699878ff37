"""The tool servers behind Streamable HTTP: the commands of their images, as processes of this machine."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import psutil
import pytest
from composed import read_compose
from images import ROOT, Builder, command_of
from toolboxes import toolbox_in

from sophos.protections import Protections
from sophos.tools.toolbox import open_toolbox

# The images are built, or a dozen namespaces made, before the first of them.
pytestmark = pytest.mark.timeout(400)
HERE: Final = Path(__file__).parent
BRIDGE: Final = [sys.executable, str(ROOT / "config/images/bridge.py"), "--address", "127.0.0.1"]


@dataclass(frozen=True, kw_only=True)
class Running:
    process: subprocess.Popen[str]
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def server(self) -> psutil.Process:
        """The one child."""
        [child] = psutil.Process(self.process.pid).children()
        return child

    def health(self) -> int:
        return httpx.get(f"{self.url}/healthz", timeout=20).status_code


@contextmanager
def running(command: list[str], **environ: str) -> Iterator[Running]:
    """A bridge for as long as the block lasts; its own words say the port."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environ},
    )
    with process:
        try:
            assert process.stdout is not None
            yield Running(process=process, port=int(process.stdout.readline().split()[1]))
        finally:
            process.terminate()
            process.wait(timeout=30)


def of_image(built: Builder, name: str, *, port: int = 0) -> list[str]:
    """What the container runs, on loopback and a port that is free."""
    command = [built.mapped(name, word) for word in command_of(built.stages, name, None)]
    command[command.index("--port") + 1] = str(port)
    return [*command[:2], "--address", "127.0.0.1", *command[2:]]


def configuration(ports: Mapping[str, int]) -> dict[str, Any]:
    """config/mcp.compose.json, with each container replaced by a port of this machine."""
    text = (ROOT / "config/mcp.compose.json").read_text(encoding="utf-8")
    for name, port in ports.items():
        text = text.replace(f"http://{name}:8080/", f"http://127.0.0.1:{port}/")
    servers: dict[str, Any] = json.loads(text)["mcpServers"]
    return servers


def entity(name: str) -> dict[str, Any]:
    return {"entities": [{"name": name, "entityType": "bird", "observations": ["flies"]}]}


def names_in(file: Path) -> set[str]:
    return {json.loads(line)["name"] for line in file.read_text(encoding="utf-8").splitlines()}


def test_over_http_the_servers_offer_what_they_offer_over_pipes(
    built: Builder, tmp_path: Path
) -> None:
    async def scenario(ports: Mapping[str, int]) -> None:
        over_pipes = open_toolbox(
            config_dir=ROOT / "config",
            memory_file=tmp_path / "other" / "memory.jsonl",
            environment={"PATH": os.defpath},
            tool_timeout=60,
            result_limit=1000,
            protections=Protections(),
        )
        over_http = toolbox_in(tmp_path, configuration(ports), tool_timeout=60)
        async with over_pipes as one, over_http as other:
            assert (await one.offer()).tools == (await other.offer()).tools
            assert len((await other.offer()).tools) == 10

    file = str(tmp_path / "memory.jsonl")
    with (
        running(of_image(built, "mcp-memory"), MEMORY_FILE_PATH=file) as memory,
        running(of_image(built, "mcp-fetch")) as fetch,
    ):
        asyncio.run(scenario({"mcp-memory": memory.port, "mcp-fetch": fetch.port}))


def test_many_clients_share_one_server_and_none_undoes_another_s_work(
    built: Builder, tmp_path: Path
) -> None:
    async def client(port: int, name: str) -> None:
        folder = tmp_path / name
        folder.mkdir()
        servers = {"memory": configuration({"mcp-memory": port})["memory"]}
        async with toolbox_in(folder, servers) as toolbox:
            calls = [
                toolbox.call("memory__create_entities", entity(f"{name} {n}"), key=f"{name} {n}")
                for n in range(8)
            ]
            assert {result.status for result in await asyncio.gather(*calls)} == {"success"}

    async def scenario(port: int) -> None:
        await asyncio.gather(client(port, "owl"), client(port, "rook"))

    file = tmp_path / "memory.jsonl"
    with running(of_image(built, "mcp-memory"), MEMORY_FILE_PATH=str(file)) as memory:
        asyncio.run(scenario(memory.port))
        assert memory.server().is_running()
    assert names_in(file) == {f"{name} {n}" for name in ("owl", "rook") for n in range(8)}


def test_calls_of_one_server_wait_for_each_other_if_it_is_told_so(tmp_path: Path) -> None:
    async def together(port: int) -> set[str]:
        servers = {"crowd": {"url": f"http://127.0.0.1:{port}/mcp"}}
        async with toolbox_in(tmp_path, servers) as toolbox:
            calls = [toolbox.call("crowd__enter", {}, key=str(n)) for n in range(5)]
            return {result.text for result in await asyncio.gather(*calls)}

    server = ["--name", "crowd", "--port", "0", "--", sys.executable, str(HERE / "crowd.py")]
    with running([*BRIDGE, "--one-at-a-time", *server, "0.1"]) as bridge:
        assert asyncio.run(together(bridge.port)) == {"1"}
    with running([*BRIDGE, *server, "60"]) as bridge:
        assert asyncio.run(together(bridge.port)) == {"5"}


def test_the_bridge_ends_with_its_server_and_another_goes_on_from_the_file(
    built: Builder, tmp_path: Path
) -> None:
    file = tmp_path / "memory.jsonl"

    async def scenario() -> None:
        async with toolbox_in(tmp_path, {}) as toolbox:
            with running(of_image(built, "mcp-memory"), MEMORY_FILE_PATH=str(file)) as memory:
                servers = {"memory": configuration({"mcp-memory": memory.port})["memory"]}
                (tmp_path / "mcp.json").write_text(json.dumps(servers))
                await toolbox.call("memory__create_entities", entity("owl"), key="1")
                memory.server().kill()
                assert await asyncio.to_thread(memory.process.wait, 30) == 1
            again = of_image(built, "mcp-memory", port=memory.port)
            with running(again, MEMORY_FILE_PATH=str(file)):
                made = await toolbox.call("memory__create_entities", entity("rook"), key="2")
                assert made.status == "success"

    asyncio.run(scenario())
    assert names_in(file) == {"owl", "rook"}


def test_told_to_end_the_bridge_ends_its_server_and_says_that_all_is_well(
    built: Builder, tmp_path: Path
) -> None:
    file = str(tmp_path / "memory.jsonl")
    with running(of_image(built, "mcp-memory"), MEMORY_FILE_PATH=file) as memory:
        child = memory.server()
        memory.process.terminate()
        assert memory.process.wait(timeout=30) == 0
        assert not child.is_running()


def test_a_server_that_hangs_makes_its_container_unhealthy(built: Builder, tmp_path: Path) -> None:
    file = str(tmp_path / "memory.jsonl")
    with running(of_image(built, "mcp-memory"), MEMORY_FILE_PATH=file) as memory:
        assert memory.health() == 200
        memory.server().send_signal(signal.SIGSTOP)
        assert memory.health() == 503
        memory.server().send_signal(signal.SIGCONT)
        assert memory.health() == 200


@pytest.mark.parametrize(("host", "status"), [("mcp-fetch:8080", 406), ("evil.example", 421)])
def test_only_the_names_a_container_has_are_answered_to(
    built: Builder, host: str, status: int
) -> None:
    with running(of_image(built, "mcp-fetch")) as fetch:
        answer = httpx.get(f"{fetch.url}/mcp", headers={"Host": host})
        assert answer.status_code == status


def test_the_images_run_what_the_pipes_run_with_the_same_surroundings() -> None:
    servers = json.loads((ROOT / "config/mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    over_http = json.loads((ROOT / "config/mcp.compose.json").read_text(encoding="utf-8"))
    assert servers.keys() == over_http["mcpServers"].keys()
    kept = ("optional", "approval", "timeout")
    for name, server in servers.items():
        other = over_http["mcpServers"][name]
        assert [server.get(key) for key in kept] == [other.get(key) for key in kept]
        container = read_compose()["services"][f"mcp-{name}"]
        assert set(server["env"]) - {"PATH"} == set(container.get("environment", {}))
