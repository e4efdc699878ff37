"""Who is who among a bench's processes, and whom they talk to, read from the operating system."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from lab.tree import Record

OWNER: Final = "notebook"
_ROLES: Final = (
    # A keeper's command line holds that of the server it guards, so it is looked for first.
    ("keeper.py", "keeper"),
    ("server-memory", "mcp memory"),
    ("mcp-server-fetch", "mcp fetch"),
    ("mcp_server_fetch", "mcp fetch"),
    ("lab.tasks", "mcp tasks"),
    # Of another bench: one's own go by the name they were started with.
    ("-m lab.model", "model"),
    ("-m lab.site", "site"),
    ("-m sophos", "server"),
)


@dataclass(frozen=True, kw_only=True)
class Member:
    """A live process of a bench. `label` is `server#1` for one the bench started, else its role."""

    label: str
    role: str
    parent: str
    state: str
    process: psutil.Process


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A socket: `peer` is the role of who listens there, or an address outside the bench."""

    label: str
    kind: str
    peer: str
    address: str


def members(records: list[Record]) -> list[Member]:
    """The live ones, each followed by those below it."""
    found: list[Member] = []
    for record in records:
        with suppress(psutil.NoSuchProcess):
            if record.is_alive:
                process = psutil.Process(record.pid)
                found += _with_descendants(record.label, record.name, OWNER, process)
    return found


def connections(records: list[Record]) -> list[Connection]:
    """Listening sockets, and established ones to a listener or to somewhere else."""
    sockets = [
        (member, socket)
        for member in members(records)
        for socket in _sockets(member.process)
        if socket.laddr
    ]
    listeners = {
        socket.laddr.port: member.label
        for member, socket in sockets
        if socket.status == psutil.CONN_LISTEN
    }
    found = []
    for member, socket in sockets:
        if socket.status == psutil.CONN_LISTEN:
            address = f"{socket.laddr.ip}:{socket.laddr.port}"
            found.append(Connection(label=member.label, kind="listens", peer="", address=address))
        elif socket.status == psutil.CONN_ESTABLISHED and socket.laddr.port not in listeners:
            address = f"{socket.raddr.ip}:{socket.raddr.port}"
            peer = listeners.get(socket.raddr.port, address)
            found.append(
                Connection(label=member.label, kind="connected to", peer=peer, address=address)
            )
    return found


def _with_descendants(
    label: str, role: str, parent: str, process: psutil.Process
) -> Iterator[Member]:
    yield Member(label=label, role=role, parent=parent, state=_state(process), process=process)
    children = [(_role(child), child.pid, child) for child in process.children()]
    for child_role, _, child in sorted(children, key=lambda row: row[:2]):
        with suppress(psutil.NoSuchProcess):
            yield from _with_descendants(child_role, child_role, label, child)


def _role(process: psutil.Process) -> str:
    try:
        command = " ".join(process.cmdline())
        known = (role for sign, role in _ROLES if sign in command)
        return next(known, None) or Path(process.name()).stem
    except psutil.NoSuchProcess:
        return "ended"


def _state(process: psutil.Process) -> str:
    match process.status():
        case psutil.STATUS_STOPPED:
            return "frozen"
        case psutil.STATUS_ZOMBIE:
            return "ended"
        case _:
            return "running"  # running or sleeping: which of the two is a matter of microseconds


def _sockets(process: psutil.Process) -> list[Any]:
    try:
        return process.net_connections(kind="inet")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []
