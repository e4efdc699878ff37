"""compose.yaml as a map: which container stands in which network, and who can open a connection to whom.

    from lab.topology import read_topology
    topology = read_topology()
    topology.services()                       one row per container
    topology.networks()                       one row per network
    topology.reachable()                      one row per pair
    topology.reachable("sophos", "outside")   one row

Two places are no containers: `outside`, which is every address beyond the containers, and `browser`,
which is whatever runs on this machine. What keeps a connection from being opened is one of

    no route        the two share no network, and neither has a way to the other's: the kernel says no
    engine's rules  both networks reach the machine, and the engine's packet filter keeps them apart
    configured      there is a route; a command line, a token or a program's own refusal is all there is

and the last may be changed by whoever controls that program. Read from the file alone; tests rebuild
it with real network namespaces and compare (tests/containers/test_topology.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd
import yaml

from lab.frame import frame, show_all
from lab.workspace import PROJECT

OUTSIDE: Final = "outside"
BROWSER: Final = "browser"
NO_ROUTE: Final = "no route"
ENGINE: Final = "engine's rules"
CONFIGURED: Final = "configured"
RELAY: Final = "/app/relay.py"
# What stands between one and the other although there is a route. Said by hand, checked by nothing
# here: each is a promise of the program that is named.
PROMISES: Final[Mapping[tuple[str, str], str]] = {
    ("mcp-fetch", OUTSIDE): "the Fetch server refuses private addresses, and asks robots.txt",
}
TOKEN: Final = "sophos asks for SOPHOS_TOKEN"  # noqa: S105 - the setting's name


@dataclass(frozen=True, kw_only=True)
class Network:
    """`internal`: no way out of it, and no port is published from it."""

    name: str
    internal: bool
    isolated: bool  # the machine has no address in it


@dataclass(frozen=True, kw_only=True)
class Published:
    """A port of this machine that leads into a container."""

    address: str
    port: str
    target: int


@dataclass(frozen=True, kw_only=True)
class Service:
    """One container, as far as a lesson asks."""

    name: str
    networks: frozenset[str]
    profile: str
    published: tuple[Published, ...]
    keeps: tuple[str, ...]  # the volumes
    relays_to: str | None  # the one place it passes connections on to
    guarded: bool  # by a token
    contained: bool  # another user than root, read-only root, no capabilities, no new ones


@dataclass(frozen=True, kw_only=True)
class Topology:
    members: Mapping[str, Service]
    nets: Mapping[str, Network]

    def services(self) -> pd.DataFrame:
        """Columns: service, profile, networks, published, keeps, way_out, contained."""
        rows = [
            {
                "service": service.name,
                "profile": service.profile,
                "networks": ", ".join(sorted(service.networks)),
                "published": ", ".join(f"{port.address}:{port.port}" for port in service.published),
                "keeps": ", ".join(service.keeps),
                "way_out": self.leads_out(service.name),
                "contained": service.contained,
            }
            for service in self._sorted()
        ]
        return frame(rows, list(rows[0]))

    def networks(self) -> pd.DataFrame:
        """Columns: network, way_out, members."""
        rows = [
            {
                "network": net.name,
                "way_out": not net.internal,
                "members": ", ".join(s.name for s in self._sorted() if net.name in s.networks),
            }
            for _, net in sorted(self.nets.items())
        ]
        return frame(rows, list(rows[0]))

    def reachable(self, source: str | None = None, target: str | None = None) -> pd.DataFrame:
        """Who can open a connection to whom; every pair, or those of one end or of both.

        Columns: from, to, route (whether packets get there), through (the networks), kept_by (what
        prevents or limits it: empty, or one of the three above), how. Raises ValueError for a name
        that there is not.
        """
        places = [*sorted(self.members), OUTSIDE]
        for name in (source, target):
            if name is not None and name not in {*places, BROWSER}:
                known = ", ".join([*places, BROWSER])
                raise ValueError(f"There is no {name} in this topology. There are {known}.")
        sources = [*sorted(self.members), BROWSER]
        rows = [
            self._row(a, b)
            for a in sources
            for b in places
            if a != b and source in (None, a) and target in (None, b)
        ]
        return frame(rows, ["from", "to", "route", "through", "kept_by", "how"])

    def only(self, *names: str) -> Topology:
        """These containers alone, with the networks they stand in."""
        members = {name: self.members[name] for name in names}
        nets = {net for service in members.values() for net in service.networks}
        return Topology(members=members, nets={name: self.nets[name] for name in nets})

    def leads_out(self, name: str) -> bool:
        return any(not self.nets[net].internal for net in self.members[name].networks)

    def common(self, one: str, other: str) -> list[str]:
        """The networks both stand in."""
        return sorted(self.members[one].networks & self.members[other].networks)

    def _sorted(self) -> Iterator[Service]:
        return (service for _, service in sorted(self.members.items()))

    def _row(self, source: str, target: str) -> dict[str, Any]:
        if source == BROWSER:
            through, kept_by, how = self._from_browser(target)
        elif target == OUTSIDE:
            through, kept_by, how = self._to_outside(source)
        else:
            through, kept_by, how = self._between(source, target)
        route = kept_by in ("", CONFIGURED)
        return {
            "from": source,
            "to": target,
            "route": route,
            "through": ", ".join(through),
            "kept_by": kept_by,
            "how": how,
        }

    def _from_browser(self, target: str) -> tuple[list[str], str, str]:
        if target == OUTSIDE:
            return [], "", "it is no container"
        service = self.members[target]
        if service.published:
            at = ", ".join(f"{port.address}:{port.port}" for port in service.published)
            return [at], "", "published"
        if any(not self.nets[net].isolated for net in service.networks):
            # The machine has an address in such a network, whatever is published from it.
            nets = sorted(net for net in service.networks if not self.nets[net].isolated)
            return nets, CONFIGURED, "nothing is published; the machine knows its address"
        return [], NO_ROUTE, "the machine has no address in its networks"

    def _to_outside(self, source: str) -> tuple[list[str], str, str]:
        service = self.members[source]
        ways = sorted(net for net in service.networks if not self.nets[net].internal)
        if not ways:
            return [], NO_ROUTE, "each of its networks is internal"
        if service.relays_to is not None:
            return ways, CONFIGURED, f"its command passes on to {service.relays_to} alone"
        promise = PROMISES.get((source, OUTSIDE))
        return ways, CONFIGURED if promise else "", promise or "it may go anywhere"

    def _between(self, source: str, target: str) -> tuple[list[str], str, str]:
        if common := self.common(source, target):
            guarded = self.members[target].guarded
            return common, CONFIGURED if guarded else "", TOKEN if guarded else "one network"
        if self.leads_out(source) and self.leads_out(target):
            return [], ENGINE, "no network in common, but each has a gateway on this machine"
        return [], NO_ROUTE, "no network in common"


def read_topology(path: Path = PROJECT / "compose.yaml") -> Topology:
    """Read the file, every profile included. Raises ValueError if a service names no network."""
    show_all()
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    nets = {name: _network(name, entry or {}) for name, entry in document["networks"].items()}
    members = {name: _service(name, entry) for name, entry in document["services"].items()}
    for service in members.values():
        if not service.networks or not service.networks <= nets.keys():
            raise ValueError(f"{service.name} must name its networks, and each must be there.")
    return Topology(members=members, nets=nets)


def _network(name: str, entry: Mapping[str, Any]) -> Network:
    mode = entry.get("driver_opts", {}).get("com.docker.network.bridge.gateway_mode_ipv4")
    return Network(name=name, internal=entry.get("internal", False), isolated=mode == "isolated")


def _service(name: str, entry: Mapping[str, Any]) -> Service:
    command = entry.get("command", [])
    return Service(
        name=name,
        networks=frozenset(entry.get("networks", [])),
        profile=", ".join(entry.get("profiles", [])),
        published=tuple(_published(text) for text in entry.get("ports", [])),
        keeps=tuple(text.split(":")[0] for text in entry.get("volumes", [])),
        relays_to=command[3] if RELAY in command else None,
        guarded="SOPHOS_TOKEN" in entry.get("environment", {}),
        contained=(
            entry.get("read_only") is True
            and entry.get("cap_drop") == ["ALL"]
            and "no-new-privileges:true" in entry.get("security_opt", [])
            and entry.get("user", "0").split(":")[0] not in {"0", "root"}
        ),
    )


def _published(text: str) -> Published:
    # From the right: `${NAME:-8080}` holds a colon of its own.
    rest, _, target = text.rpartition(":")
    address, _, port = rest.partition(":")
    return Published(address=address, port=port, target=int(target))
