"""Who can open a connection to whom: real sockets in a topology that is rebuilt from compose.yaml.

Where the system allows no namespaces, the same is asserted of the file alone, and the summary says
which words it refused with. Nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pytest
from engine import REFUSALS, WORLD, Engine, Refused, engine

from lab.topology import BROWSER, OUTSIDE, Topology, read_topology

PORT: Final = 8080
# The images are built, or a dozen namespaces made, before the first of them.
pytestmark = pytest.mark.timeout(400)
Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def topology() -> Topology:
    return read_topology()


@pytest.fixture(scope="module")
def made(topology: Topology) -> Iterator[Engine | str]:
    """The machine with everybody listening, or the words with which the system refused it."""
    try:
        with engine() as machine:
            machine.build(topology)
            for name in (*topology.members, "world"):
                machine.inside(name, "listen", PORT)
            yield machine
    except Refused as error:
        yield str(error)


def answers(made: Engine, source: str, targets: list[str]) -> list[str]:
    """What the kernel says to a connection from `source` to each address."""
    pairs = [(address, PORT) for address in targets]
    if source == BROWSER:
        return list(made.do("connect_all", pairs))
    return list(made.inside(source, "connect_all", pairs))


def note(refused: str, record_property: Record) -> None:
    # Anything else would be a fault of ours.
    assert REFUSALS.search(refused), refused
    record_property("refused", refused)


@pytest.mark.parametrize("source", [*sorted(read_topology().members), BROWSER])
def test_the_kernel_opens_what_the_file_says_and_nothing_else(
    source: str, made: Engine | str, topology: Topology, record_property: Record
) -> None:
    rows = topology.reachable(source).to_dict("records")
    if isinstance(made, str):
        note(made, record_property)
        leads_out = source == BROWSER or topology.leads_out(source)
        assert any(row["route"] for row in rows if row["to"] == OUTSIDE) == leads_out
        return
    # At once: where a packet is dropped and not refused, each waits.
    ends = [
        (row["to"], net)
        for row in rows
        if row["to"] in topology.members
        for net in topology.members[row["to"]].networks
    ]
    addresses = [made.addresses[end] for end in ends]
    *said, world = answers(made, source, [*addresses, WORLD])
    reached = {end for end, answer in zip(ends, said, strict=True) if answer == "open"}
    assert (world == "open") == any(row["route"] for row in rows if row["to"] == OUTSIDE)
    if source == BROWSER:
        # What is published is the engine's; here it is who has an address for the machine to use.
        assert reached == {(to, net) for to, net in ends if not topology.nets[net].isolated}
    else:
        assert reached == {
            (row["to"], net)
            for row in rows
            if row["route"] and row["to"] != OUTSIDE
            for net in row["through"].split(", ")
        }


def test_who_has_no_way_out_is_refused_by_its_own_kernel_at_once(
    made: Engine | str, topology: Topology, record_property: Record
) -> None:
    shut_in = [name for name in topology.members if not topology.leads_out(name)]
    assert {"sophos", "mcp-memory", "lab", "inspector"} == set(shut_in)
    if isinstance(made, str):
        note(made, record_property)
        return
    for name in shut_in:
        # The world, the machine's own way up, and the machine's address in another's network.
        beyond = [WORLD, "198.51.100.2", made.gateways["outside"]]
        assert answers(made, name, beyond) == ["ENETUNREACH"] * 3


@pytest.mark.parametrize(("forwarding", "opened"), [("0", False), ("1", True)])
def test_a_container_in_two_networks_is_a_way_between_them_only_if_it_forwards(
    topology: Topology, forwarding: str, opened: bool, record_property: Record
) -> None:
    small = topology.only("sophos", "mcp-memory", "mcp-fetch")
    try:
        with engine() as machine:
            machine.build(small, forwarding=forwarding)
            machine.inside("mcp-fetch", "listen", PORT)
            # Both ends conspire, and were given the right to change their routes.
            there = machine.addresses["mcp-fetch", "fetch"]
            here = machine.addresses["mcp-memory", "memory"]
            by = {net: machine.addresses["sophos", net] for net in ("memory", "fetch")}
            machine.inside("mcp-memory", "run", "ip", "route", "add", there, "via", by["memory"])
            machine.inside("mcp-fetch", "run", "ip", "route", "add", here, "via", by["fetch"])
            assert (answers(machine, "mcp-memory", [there]) == ["open"]) == opened
    except Refused as error:
        note(str(error), record_property)
        assert all(service.contained for service in topology.members.values())
