"""The tool servers of mcp.json as the doctor tries them: installed, started, and asked who they are.

Each is started as Sophos would start it, but on a memory file of its own, and ended again. Standard
library alone.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lab.finding import Finding, good, missing, note
from lab.handshake import HELLO, NoAnswer, introduce

ANSWER_WITHIN: Final = 10.0  # seconds for a server that is reached over HTTP
Sick = Callable[[str, str, str], Finding]


def tool_servers(config: Path, environ: Mapping[str, str], setup: str) -> Iterator[Finding]:
    """`setup` is the command that installs the project's own servers."""
    place = config / "mcp.json"
    try:
        listed = json.loads(place.read_text(encoding="utf-8-sig"))
        servers = dict(listed.get("mcpServers", listed))
    except OSError as error:
        yield missing("Tool servers", f"{place}: {error.strerror}", "put a mcp.json there")
        return
    except (ValueError, TypeError, AttributeError) as error:
        yield missing("Tool servers", f"{place} cannot be read: {error}", "correct it")
        return
    for name, server in servers.items():
        if isinstance(server, dict) and ("command" in server or "url" in server):
            yield _server(f"Tool server {name}", server, config, environ, setup)
        elif name != "approval":
            yield missing(f"Tool server {name}", "it has no command and no url", f"correct {place}")


def _server(
    subject: str, server: dict[str, Any], config: Path, environ: Mapping[str, str], setup: str
) -> Finding:
    sick: Sick = note if server.get("optional") is True else missing
    try:
        if "url" in server:
            return _remote(subject, server["url"], sick)
        with tempfile.TemporaryDirectory() as folder:
            memory = Path(folder) / "memory.jsonl"
            variables = {"CONFIG_DIR": str(config.absolute()), "MEMORY_FILE_PATH": str(memory)}
            return _local(subject, _filled(server, variables), config, environ, setup, sick)
    except (TypeError, ValueError, AttributeError) as error:
        return sick(subject, f"its description cannot be used: {error}", f"correct {config}")


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    """The description with `${NAME}` replaced wherever it stands."""
    if isinstance(value, str):
        for name, text in variables.items():
            value = value.replace(f"${{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {key: _filled(inner, variables) for key, inner in value.items()}
    return [_filled(inner, variables) for inner in value] if isinstance(value, list) else value


def _local(
    subject: str,
    server: dict[str, Any],
    config: Path,
    environ: Mapping[str, str],
    setup: str,
    sick: Sick,
) -> Finding:
    command, remedy = server["command"], setup
    if os.sep in command:
        command = os.path.normpath(config.absolute() / command)
        if ".mcp-servers" not in command:
            remedy = "install it, or correct the command in mcp.json"
    else:
        remedy = f"install {command}, or correct the command in mcp.json"
    path = {**environ, **server.get("env", {})}
    if shutil.which(command, path=path.get("PATH")) is None:
        return sick(subject, f"{command} is not installed", remedy)
    folder = Path(os.path.normpath(config.absolute() / server.get("cwd", ".")))
    try:
        told = introduce([command, *server.get("args", [])], path, folder=folder)
    except NoAnswer as error:
        return sick(subject, str(error), remedy)
    return good(subject, f"starts and answers as {told}")


def _remote(subject: str, url: str, sick: Sick) -> Finding:
    accepted = {"Accept": "application/json, text/event-stream"}
    headers = {**accepted, "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(HELLO).encode(), headers)  # noqa: S310 - http(s) by what mcp.json may hold
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_WITHIN) as answer:  # noqa: S310 - same
            return good(subject, f"answers at {url} with status {answer.status}")
    except urllib.error.HTTPError as error:
        seen = f"refuses at {url} with status {error.code}"
        return note(subject, seen, "see that the headers in mcp.json are what it asks for")
    except OSError as error:
        return sick(subject, f"does not answer at {url}: {error}", "start it, or correct its url")
