"""Whether an MCP server starts: the first exchange of the protocol, spoken by hand.

Holds nothing; the server has ended when the answer is there. Standard library alone: the doctor
asks this where nothing may be installed.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ANSWER_WITHIN: Final = 30.0  # seconds
END_WITHIN: Final = 5.0  # seconds from the end of its input
HELLO: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "lab doctor", "version": "1"},
    },
}


class NoAnswer(Exception):
    """The server did not start, or did not answer as an MCP server does."""


def introduce(
    command: Sequence[str | Path], environ: Mapping[str, str], *, folder: Path | None = None
) -> str:
    """Start a server over its standard streams; the name and version it gives, then end it."""
    try:
        server = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            cwd=folder,
        )
    except OSError as error:
        raise NoAnswer(f"{command[0]} could not be started: {error.strerror}") from error
    deadline = threading.Timer(ANSWER_WITHIN, server.kill)
    deadline.start()
    try:
        return _exchange(server)
    finally:
        deadline.cancel()
        _end(server)


def _exchange(server: subprocess.Popen[bytes]) -> str:
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        line = server.stdout.readline()
    except OSError as error:
        raise NoAnswer(f"it ended at once: {error.strerror}") from error
    if not line:
        raise NoAnswer("it ended, or said nothing in time")
    try:
        info = json.loads(line)["result"]["serverInfo"]
        return f"{info['name']} {info['version']}"
    except (ValueError, KeyError, TypeError) as error:
        raise NoAnswer(f"it said something else: {line[:80]!r}") from error


def _end(server: subprocess.Popen[bytes]) -> None:
    # The end of its input is how a server of this kind is told to go.
    try:
        server.communicate(timeout=END_WITHIN)
    except subprocess.TimeoutExpired:
        server.kill()
        server.communicate()
