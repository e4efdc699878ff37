"""compose.yaml's networks and containers, rebuilt with this kernel's namespaces instead of an engine.

    world ── machine ══ one switch per network ══ containers

What an engine does with a network is done here with the same means: a switch; an address for the
machine in it unless it is internal; for a container a cable to each of its networks, and a default
route where one of them is not internal; a rule that packets from one switch to another are refused;
a relay on the machine for a published port. What is not modelled: address translation on the way
out (the world knows the way back), the engine's name server (names stand in /etc/hosts), users,
capabilities and limits.

Nothing is left behind: all of it lives in namespaces that end with one process.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

from lab.topology import Topology

INSIDE: Final = Path(__file__).with_name("engine_inside.py")
# In a world of its own it is nobody else's. Not one for documentation: Fetch takes those as private.
WORLD: Final = "9.9.9.9"
UPLINK: Final = "198.51.100."
# With users of our own where that is allowed, so that it needs no root; as root otherwise.
WAYS: Final = (
    ("unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"),
    ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"),
)


# How a system refuses. Other words are a fault of ours.
REFUSALS: Final = re.compile(
    r"not permitted|[Pp]ermission denied|not installed|[Nn]o such file|not supported"
    r"|Unknown device type|[Nn]o space left|Invalid argument"
)


class Refused(Exception):
    """This system does not let us make namespaces; the text says what it refused."""


@dataclass
class Engine:
    """Speaks with the machine, in there."""

    process: subprocess.Popen[str]
    pids: dict[str, str] = field(default_factory=dict)
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)  # (container, network)
    gateways: dict[str, str] = field(default_factory=dict)  # of the networks that are not internal
    numbers: Iterator[int] = field(default_factory=count)

    def do(self, *command: Any) -> Any:
        """Raises Refused with the system's words."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline() or "null")
        except BrokenPipeError:
            answer = None
        if answer is None:
            assert self.process.stderr is not None
            raise Refused(self.process.stderr.read().strip() or "it ended")
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["answer"]

    def inside(self, container: str, *command: Any) -> Any:
        return self.do("inside", self.pids[container], command)

    def start_container(self, name: str) -> None:
        self.pids[name] = self.do("container")

    def cable(self, container: str, address: str, switch: str | None = None) -> str:
        """A cable from the machine, or from a switch, to a container; the machine's end."""
        number = next(self.numbers)
        here, there = f"m{number}", f"c{number}"
        self.do("run", "ip", "link", "add", here, "type", "veth", "peer", "name", there)
        self.do("run", "ip", "link", "set", there, "netns", self.pids[container])
        if switch:
            self.do("run", "ip", "link", "set", here, "master", switch)
        self.do("run", "ip", "link", "set", here, "up")
        self.inside(container, "run", "ip", "addr", "add", address, "dev", there)
        self.inside(container, "run", "ip", "link", "set", there, "up")
        return here

    def build(self, topology: Topology, *, forwarding: str = "0") -> None:
        """Every network and every container of the file, and the world."""
        self.do("setting", "ipv4.ip_forward", "1")  # as an engine does
        self.start_container("world")
        uplink = self.cable("world", f"{UPLINK}1/30")
        self.do("run", "ip", "addr", "add", f"{UPLINK}2/30", "dev", uplink)
        self.do("run", "ip", "route", "add", "default", "via", f"{UPLINK}1")
        self.do("run", "ip", "route", "add", "unreachable", "10.0.0.0/8")
        self.inside("world", "run", "ip", "addr", "add", f"{WORLD}/32", "dev", "lo")
        self.inside("world", "run", "ip", "route", "add", "10.0.0.0/8", "via", f"{UPLINK}2")
        for name in sorted(topology.members):
            self.start_container(name)
            self.inside(name, "setting", "ipv4.ip_forward", forwarding)
        for number, net in enumerate(sorted(topology.nets), start=1):
            self._network(number, topology.nets[net].internal, net, topology)

    def _network(self, number: int, internal: bool, net: str, topology: Topology) -> None:
        switch, subnet = f"br{number}", f"10.{number}.0"
        self.do("run", "ip", "link", "add", switch, "type", "bridge")
        self.do("run", "ip", "link", "set", switch, "up")
        if not internal:
            self.gateways[net] = f"{subnet}.1"
            self.do("run", "ip", "addr", "add", f"{subnet}.1/24", "dev", switch)
            to_others = ("iif", switch, "to", "10.0.0.0/8")
            self.do("run", "ip", "rule", "add", *to_others, "prohibit")
        members = [s.name for s in topology.members.values() if net in s.networks]
        for host, name in enumerate(sorted(members), start=2):
            self.addresses[name, net] = f"{subnet}.{host}"
            self.cable(name, f"{subnet}.{host}/24", switch)
            if not internal:
                self.inside(name, "run", "ip", "route", "add", "default", "via", f"{subnet}.1")

    def of(self, name: str) -> list[str]:
        """Every address of a container."""
        return sorted(at for (container, _), at in self.addresses.items() if container == name)

    def hosts(self, name: str, topology: Topology) -> str:
        """What the engine's name server would tell this container, as lines of /etc/hosts."""
        lines = ["127.0.0.1 localhost"]
        for other in sorted(topology.members):
            lines += [
                f"{self.addresses[other, net]} {other}" for net in topology.common(name, other)
            ]
        gateways = [
            self.gateways[net] for net in topology.members[name].networks & set(self.gateways)
        ]
        lines += [f"{gateway} host.docker.internal" for gateway in gateways]
        return "\n".join([*lines, ""])


@cache
def find_way() -> Sequence[str]:
    """How this system lets us make namespaces. Raises Refused with its words if it does not."""
    refused: list[str] = []
    for way in WAYS:
        try:
            with _machine(way) as made:
                made.do("setting", "ipv4.ip_forward", "1")
                made.do("run", "ip", "link", "add", "probe", "type", "bridge")
                made.start_container("probe")
                made.cable("probe", "10.0.0.2/24", "probe")
                return way
        except FileNotFoundError as error:
            refused.append(f"{error.filename} is not installed")
        except Refused as error:
            refused.append(str(error))
    raise Refused("; ".join(refused))


@contextmanager
def engine() -> Iterator[Engine]:
    """An empty machine. Raises Refused if this system does not allow one."""
    with _machine(find_way()) as made:
        yield made


@contextmanager
def _machine(way: Sequence[str]) -> Iterator[Engine]:
    process = subprocess.Popen(
        [*way, sys.executable, "-IS", str(INSIDE), "machine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
    )
    with process:
        try:
            yield Engine(process)
        finally:
            process.kill()
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # a command that it did not live to read
                process.stdin.close()
