"""What `docker compose up` starts, started: the built images in the rebuilt networks, without an engine.

driver (browser) ─► published port ─► door ─► sophos ─► mcp-memory, mcp-fetch ─► a page of the world
                                                  └───► model ─► the scripted model on the machine
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from composed import read_compose
from engine import REFUSALS, WORLD, Engine, Refused, engine
from images import ROOT, Builder, command_of

from lab.topology import Topology, read_topology

VALUES: Final = {"SOPHOS_TOKEN": "a-long-random-text", "OLLAMA_MODEL": "scripted"}
STARTED: Final = ("mcp-memory", "mcp-fetch", "model", "sophos", "door")
PAGE: Final = "<html><body><article><h1>Owls</h1><p>They hunt at night.</p></article></body></html>"
DRIVER: Final = Path(__file__).with_name("driver.py")
RELAY: Final = [sys.executable, str(ROOT / "config/images/relay.py")]
MODEL_PORT: Final = 11_435  # on the machine's loopback, as a model server has by default
HEALTHY_WITHIN: Final = 90.0  # seconds
# The images are built, or a dozen namespaces made, before the first of them.
pytestmark = pytest.mark.timeout(400)
Record = Callable[[str, object], None]


class Stack:
    """The running containers, and what is asked of them from outside."""

    def __init__(self, machine: Engine, built: Builder, folder: Path) -> None:
        self.machine = machine
        self.folder = folder
        self._built = built
        self._compose = read_compose(VALUES)
        self._environ = {"PATH": "/usr/bin:/bin", "PYTHONUNBUFFERED": "1", "HOME": str(folder)}

    def start(self, topology: Topology) -> None:
        self.machine.build(topology)
        for name in STARTED:
            self._enter(name, topology)
            self.machine.inside(name, "start", *self._command(name), str(self.log(name)))
        (self.folder / "owls.html").write_text(PAGE, encoding="utf-8")
        site = [sys.executable, "-m", "http.server", "80", "--directory", str(self.folder)]
        self.machine.inside("world", "start", site, self._environ, str(self.log("world")))
        model = [sys.executable, "-m", "lab.model", "--model", "scripted"]
        environ = {**self._environ, "PYTHONPATH": str(ROOT)}
        for command in (
            [*model, "--port", str(MODEL_PORT)],
            [*RELAY, "--address", self.gateway, "11434", f"127.0.0.1:{MODEL_PORT}"],
            [*RELAY, "--address", "127.0.0.1", "5173", f"{self.front}:5173"],
        ):
            self.machine.do("start", command, environ, str(self.log("machine")))

    @property
    def gateway(self) -> str:
        return self.machine.gateways["model-out"]

    @property
    def front(self) -> str:
        return self.machine.addresses["door", "front"]

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def drive(self, *words: str) -> list[Any]:
        """What a client on the machine saw, through the published port."""
        environ = {**self._environ, "PYTHONPATH": str(ROOT), "TOKEN": VALUES["SOPHOS_TOKEN"]}
        code, said, complaint = self.machine.do(
            "ask", [sys.executable, str(DRIVER), *words], environ
        )
        assert code == 0, complaint + "".join(self.log(name).read_text() for name in STARTED)
        return [json.loads(line) for line in said.splitlines()]

    def healthy(self, name: str) -> bool:
        _, python, *rest = self._compose["services"][name]["healthcheck"]["test"]
        assert python == "python"
        answer = self.machine.inside(name, "ask", [sys.executable, *rest], self._environ)
        return bool(answer[0] == 0)

    def wait_until_healthy(self, name: str) -> None:
        until = time.monotonic() + HEALTHY_WITHIN
        while not self.healthy(name):
            assert time.monotonic() < until, f"{name}: {self.log(name).read_text()}"

    def _enter(self, name: str, topology: Topology) -> None:
        service = self._compose["services"][name]
        root = self._built.place(service["build"]["target"])
        binds = {}
        for entry in service.get("volumes", []):
            volume, target = entry.split(":")
            binds[target] = str(self.folder / volume)
            (self.folder / volume).mkdir()
        for entry in service.get("configs", []):
            binds[entry["target"]] = str(ROOT / self._compose["configs"][entry["source"]]["file"])
            # An engine makes what a file is put on.
            place = root / entry["target"].removeprefix("/")
            place.parent.mkdir(exist_ok=True)
            place.touch()
        hosts = self.folder / f"{name}.hosts"
        hosts.write_text(self.machine.hosts(name, topology), encoding="utf-8")
        self.machine.inside(name, "enter", str(root), binds, str(hosts))

    def _command(self, name: str) -> tuple[list[str], Mapping[str, str]]:
        service = self._compose["services"][name]
        command = command_of(self._built.stages, service["build"]["target"], service.get("command"))
        ours = {
            "python": sys.executable,
            "/usr/local/bin/node": str((ROOT / ".mcp-servers/bin/node").resolve()),
        }
        return [ours.get(word, word) for word in command], {
            **self._environ,
            # Where no Node is, as in its image.
            **({"PATH": "/app/server/.venv/bin"} if name == "mcp-fetch" else {}),
            **service.get("environment", {}),
        }


@pytest.fixture(scope="module")
def stack(built: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack | str]:
    """The stack once it answers, or the words with which this system refused namespaces."""
    topology = read_topology().only(*STARTED)
    try:
        with engine() as machine:
            started = Stack(machine, built, tmp_path_factory.mktemp("stack"))
            started.start(topology)
            started.drive("wait")
            for name in STARTED:
                started.wait_until_healthy(name)
            yield started
    except Refused as error:
        yield str(error)


def running(stack: Stack | str, record_property: Record) -> Stack | None:
    """None where there are no namespaces: there the parts are tried alone, in the other modules."""
    if isinstance(stack, Stack):
        return stack
    assert REFUSALS.search(stack), stack
    record_property("refused", stack)
    return None


def test_a_message_goes_all_the_way_and_its_answer_comes_back(
    stack: Stack | str, record_property: Record
) -> None:
    if not (up := running(stack, record_property)):
        return
    [answer] = up.drive("ask", f"Fetch http://{WORLD}/owls.html and summarize it in one sentence.")
    assert answer["status"] == "completed"
    assert "hunt at night" in answer["text"]
    [saved] = up.drive("ask", "Remember that owls hunt at night.")
    assert saved["status"] == "completed"
    assert "owl" in (up.folder / "memory" / "memory.jsonl").read_text().lower()


def test_the_page_of_a_browser_is_let_in_and_a_stranger_without_the_token_is_not(
    stack: Stack | str, record_property: Record
) -> None:
    if not (up := running(stack, record_property)):
        return
    assert up.drive("status", "http://127.0.0.1:5173/", "http://127.0.0.1:5173/api/runs") == [
        *(200, 401)
    ]


def test_every_health_check_of_the_file_passes(stack: Stack | str, record_property: Record) -> None:
    if not (up := running(stack, record_property)):
        return
    assert {name: up.healthy(name) for name in STARTED} == dict.fromkeys(STARTED, True)


def test_told_to_stop_every_container_ends_by_itself(
    stack: Stack | str, record_property: Record
) -> None:
    if not (up := running(stack, record_property)):
        return
    codes = {name: up.machine.inside(name, "stop") for name in reversed(STARTED)}
    assert codes == {name: [0] for name in STARTED}
    assert (up.folder / "record" / "db" / "sophos.db").exists()
