"""config/mcp.json → descriptions of tool servers, validated as a whole. Nothing is started here.

    {"mcpServers": {"memory": {"command": "…", "args": […], "env": {…}, "cwd": "…"},
                    "site":   {"url": "http://…", "headers": {…}, "transport": "http"}},
     "approval": ["memory__create_entities"]}

The map of servers may also stand alone, without `mcpServers` around it. Every server may have
`optional`, `approval` (its tools' own names) and `timeout` in seconds. A `command` with a slash,
and `cwd`, are relative to the file's folder. `${NAME}` stands for a value the runtime gives, never
for a variable of its own environment; `$${` is a plain `${`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sophos.errors import ToolsUnavailable
from sophos.tools.place import Complaint, Place, parse

FILE: Final = "mcp.json"
SEPARATOR: Final = "__"

# A trailing underscore would let two servers' tools meet: `a_` + `b` and `a` + `_b`.
_NAME: Final = re.compile(r"(?!.*__)[a-zA-Z0-9_-]*[a-zA-Z0-9-]")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SHARED: Final = {"transport", "optional", "approval", "timeout"}
_LOCAL: Final = {"command", "args", "env", "cwd"}
_REMOTE: Final = {"url", "headers"}
_KEYS: Final = {"stdio": _LOCAL, "http": _REMOTE, "streamable_http": _REMOTE}


@dataclass(frozen=True, kw_only=True)
class Local:
    """A server to start as a child and to speak with over its standard input and output.

    `command` is an absolute path, or a bare name to look up in PATH. `env` may hold secrets.
    """

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path


@dataclass(frozen=True, kw_only=True)
class Remote:
    """A server to reach over Streamable HTTP. Both fields may hold secrets."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Server:
    """One server. While two descriptions are equal, nothing has to be started anew."""

    name: str
    address: Local | Remote
    optional: bool
    approval: frozenset[str]
    timeout: float | None


Servers = Mapping[str, Server]


def variables(config_dir: Path, memory_file: Path) -> dict[str, str]:
    """What `${NAME}` may stand for in mcp.json: absolute paths."""
    return {
        "CONFIG_DIR": str(config_dir.absolute()),
        "MEMORY_FILE_PATH": str(memory_file.absolute()),
    }


def read_servers(path: Path, variables: Mapping[str, str]) -> Servers:
    """Read the file; raises ToolsUnavailable naming file, place and remedy."""
    return parse_servers(read_bytes(path), path, variables)


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ToolsUnavailable(
            f'{_shown(path)} is not there. Create it, with {{"mcpServers": {{}}}} for no tools,'
            " then resume."
        ) from error
    except OSError as error:
        raise ToolsUnavailable(
            f"{_shown(path)} cannot be read: {error.strerror}. Correct that, then resume."
        ) from error


def parse_servers(content: bytes, path: Path, variables: Mapping[str, str]) -> Servers:
    """As `read_servers`, with what was read from `path`."""
    # Symbolic links stay: a virtual environment's python is known by the path it is called by.
    folder = Path(os.path.abspath(path.parent))  # noqa: PTH100 - resolve() would follow them
    try:
        return _servers(parse(content.decode("utf-8-sig"), variables), folder)
    except UnicodeDecodeError as error:
        raise ToolsUnavailable(
            f"{_shown(path)}: byte {error.start} is not UTF-8. Save it as UTF-8, then resume."
        ) from error
    except Complaint as error:
        raise ToolsUnavailable(f"{_shown(path)}: {error}. Correct it, then resume.") from error


def _shown(path: Path) -> str:
    # People read this in a browser: which file it is, and not where this machine keeps it.
    return f"{path.parent.name}/{path.name}"


def _servers(place: Place, folder: Path) -> Servers:
    entries = place.members()
    approval: Place | None = None
    wrapped = "mcpServers" in entries
    if wrapped or isinstance(entries.get("approval", place).value, list):
        approval = entries.pop("approval", None)
    if wrapped:
        inner = entries.pop("mcpServers").members()
        _refuse_unknown(place, entries, {"mcpServers", "approval"})
        entries = inner
    for name, entry in entries.items():
        if not _NAME.fullmatch(name):
            raise entry.complain(
                "is no name for a server: use letters, digits, - and single _, and no _ at the end"
            )
    named = _approval(approval, entries)
    return {name: _server(name, entry, named[name], folder) for name, entry in entries.items()}


def _approval(place: Place | None, entries: Mapping[str, Place]) -> dict[str, set[str]]:
    named: dict[str, set[str]] = {name: set() for name in entries}
    for item in place.items() if place else ():
        server, separator, tool = item.filled().partition(SEPARATOR)
        if not separator or not tool or server not in named:
            raise item.complain("must name a tool as server__tool, of a server in this file")
        named[server].add(tool)
    return named


def _server(name: str, entry: Place, approval: set[str], folder: Path) -> Server:
    members = entry.members()
    transport = "stdio" if "command" in members else "http"
    if "transport" in members:
        transport = members["transport"].text()
        if transport not in _KEYS:
            raise members["transport"].complain(f"must be one of {', '.join(_KEYS)}")
    elif not members.keys() & {"command", "url"}:
        raise entry.complain("needs a command, or a url")
    _refuse_unknown(entry, members, _KEYS[transport] | _SHARED)
    own = {item.filled() for item in members["approval"].items()} if "approval" in members else ()
    return Server(
        name=name,
        address=_local(entry, members, folder) if transport == "stdio" else _remote(entry, members),
        optional=members["optional"].truth() if "optional" in members else False,
        approval=frozenset(approval.union(own)),
        timeout=members["timeout"].seconds() if "timeout" in members else None,
    )


def _local(entry: Place, members: Mapping[str, Place], folder: Path) -> Local:
    if "command" not in members:
        raise entry.complain("needs a command")
    command = members["command"].filled()
    if "/" in command or os.sep in command:
        command = os.path.normpath(folder / command)
    env = {}
    for name, value in members["env"].members().items() if "env" in members else ():
        if not name or "=" in name or "\0" in name:
            raise value.complain("is no name for an environment variable")
        env[name] = value.text()
    return Local(
        command=command,
        args=tuple(item.text() for item in members["args"].items()) if "args" in members else (),
        env=env,
        cwd=Path(os.path.normpath(folder / members["cwd"].filled()))
        if "cwd" in members
        else folder,
    )


def _remote(entry: Place, members: Mapping[str, Place]) -> Remote:
    if "url" not in members:
        raise entry.complain("needs a url")
    url = members["url"].filled()
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise members["url"].complain("must be a URL like http://localhost:8080/mcp")
    headers = {}
    for name, value in members["headers"].members().items() if "headers" in members else ():
        headers[name] = value.text()
        if not _HEADER.fullmatch(name) or not headers[name].isascii():
            raise value.complain("must be an HTTP header, in ASCII")
        if not headers[name].isprintable():
            raise value.complain("must not hold control characters")
    return Remote(url=url, headers=headers)


def _refuse_unknown(place: Place, members: Mapping[str, Place], known: set[str]) -> None:
    if unknown := sorted(members.keys() - known):
        raise place.complain(f"has {', '.join(unknown)}; known there: {', '.join(sorted(known))}")
