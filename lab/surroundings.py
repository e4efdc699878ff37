"""What the doctor sees around the project: the port, the disk, the database, the model server.

A read-only look at each. Standard library alone.
"""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from lab.environment import Environment
from lab.finding import Finding, good, missing, note

HOST: Final = "127.0.0.1"
PORT: Final = 5173  # where Sophos listens unless PORT says otherwise
OLLAMA_PORT: Final = 11434
LEAST_SPACE: Final = 500_000_000  # bytes
ANSWER_WITHIN: Final = 3.0  # seconds for a server to answer
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of the loopback address."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        # As servers do: a port that only waits out its last connections is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def whose(port: int) -> str:
    """Who answers on a taken port, in a few words."""
    try:
        health = _get(f"http://{HOST}:{port}/api/healthz")
        return f"taken by a Sophos, pid {health['pid']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "taken by another program"


def port_number(text: str) -> int:
    """A port, or 0 for any. Raises ValueError that says what to write."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise ValueError("write a number from 0 to 65535")
    return int(text)


def port(environ: Mapping[str, str]) -> Finding:
    """The port that Sophos asks for."""
    text = environ.get("PORT") or str(PORT)
    try:
        number = port_number(text)
    except ValueError as error:
        return missing("PORT", f"{text!r} is no port", str(error))
    if is_free(number):
        return good(f"Port {number}", "free")
    remedy = "none needed: the lab takes another port and says so"
    return note(f"Port {number}", whose(number), remedy)


def disk(environment: Environment) -> Finding:
    folder = next(path for path in (environment.root / "data", environment.root) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return missing(
            "Disk", f"{folder}: {error.strerror}", "give yourself the right to write there"
        )
    free = shutil.disk_usage(folder).free
    seen = f"{folder} can be written, {free / 1e9:.1f} GB free"
    return good("Disk", seen) if free >= LEAST_SPACE else missing("Disk", seen, "free some space")


def database(path: Path) -> Finding:
    if not path.exists():
        return good("Database", f"{path} is made at the first start")
    # Opening one whose log files are not there would make them; nobody uses such a one now.
    unused = not path.with_name(f"{path.name}-wal").exists()
    address = f"file:{quote(str(path))}?mode=ro" + ("&immutable=1" if unused else "")
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=ANSWER_WITHIN)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        return missing("Database", f"{path}: {error}", "put a backup in its place, or move it away")
    return good("Database", f"{path} opens")


def ollama_asked_for(environ: Mapping[str, str]) -> tuple[str, str]:
    """The URL of the Ollama and the name of the model to ask for."""
    host = (environ.get("OLLAMA_HOST") or "localhost").rstrip("/")
    if "://" not in host:
        # As Ollama reads it: a bare name means its own port.
        host = f"http://{host}" if ":" in host else f"http://{host}:{OLLAMA_PORT}"
    return host, environ.get("OLLAMA_MODEL") or "qwen3"


def model(environ: Mapping[str, str], *, needed: bool) -> Finding:
    """Ollama, and the model asked for; only a note where the scripted model is used."""
    sick = missing if needed else note
    unless = "" if needed else "only for --model ollama: "
    host, wanted = ollama_asked_for(environ)
    try:
        names = {entry["name"] for entry in _get(f"{host}/api/tags")["models"]}
    except (OSError, ValueError, KeyError, TypeError):
        remedy = f"{unless}start Ollama, or set OLLAMA_HOST"
        return sick("Ollama", f"does not answer at {host}", remedy)
    if wanted not in names and f"{wanted}:latest" not in names:
        remedy = f"{unless}ollama pull {wanted}, or set OLLAMA_MODEL"
        return sick("Ollama", f"answers at {host} and does not have {wanted}", remedy)
    return good("Ollama", f"answers at {host} and has {wanted}")


def browser() -> Finding:
    name = next((name for name in BROWSERS if shutil.which(name)), None)
    if name is None:
        return note("Chromium", "not found", "only for tests/browser: apt install chromium")
    return good("Chromium", str(shutil.which(name)))


def _get(url: str) -> Any:
    # A proxy is for the world outside; every address here is on this machine or named by its user.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=ANSWER_WITHIN) as answer:
        return json.load(answer)
