"""What the doctor sees around the project: ports, the disk, the data, who may reach it, the model.

A read-only look at each. Standard library alone.
"""

from __future__ import annotations

import getpass
import json
import os
import shutil
import socket
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from lab.environment import Environment
from lab.finding import Finding, good, missing, note
from lab.programs import answer_of
from lab.session import Session

HOST: Final = "127.0.0.1"
LOOPBACK: Final = (HOST, "localhost", "::1")
PORT: Final = 5173  # where Sophos listens unless PORT says otherwise
OLLAMA_PORT: Final = 11434
LEAST_SPACE: Final = 500_000_000  # bytes
ANSWER_WITHIN: Final = 3.0  # seconds for a server to answer
KEPT: Final = frozenset({".db", ".jsonl", ".lock", ".db-wal", ".db-shm"})
READABLE_BY_OTHERS: Final = 0o077
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


def port(environ: Mapping[str, str], session: Session | None = None) -> Finding:
    """The port that Sophos asks for."""
    text = environ.get("PORT") or str(PORT)
    try:
        number = port_number(text)
    except ValueError as error:
        return missing("PORT", f"{text!r} is no port", str(error))
    return port_of("Sophos", number, session)


def port_of(program: str, number: int, session: Session | None = None) -> Finding:
    """The port that a part of the lab asks for. `session` is the lab on record, dead or alive."""
    subject = f"Port {number}, for {program}"
    if is_free(number):
        return good(subject, "free")
    if session and any(urlsplit(url).port == number for url in session.pages.values()):
        return good(subject, f"taken by the lab that runs here, pid {session.pid}")
    return note(subject, whose(number), "nothing to do: the lab takes another and says so")


def settings(python: Path, environ: Mapping[str, str]) -> Finding:
    """Whether Sophos takes what the environment says: asked of Sophos itself."""
    answer = answer_of(python, "-m", "sophos", "--protections", environ=environ)
    if answer is None:
        return missing("Settings", f"{python} cannot be asked", "python3 -m lab setup")
    if answer.returncode:
        refusal = (answer.stderr.strip().splitlines() or ["it does not say why"])[-1]
        told = refusal.removeprefix("sophos: ").rstrip(".")
        return missing("Settings", told, "change or unset the variable it names")
    return good("Settings", "Sophos takes what the environment says")


def door(environ: Mapping[str, str]) -> Finding:
    """Who can reach Sophos, and whether they need a token."""
    host, token = environ.get("HOST") or HOST, environ.get("SOPHOS_TOKEN")
    if host in LOOPBACK:
        needed = "with the token" if token else "without a token"
        return good("Who may ask", f"this machine alone, {needed}")
    if not token:
        remedy = "set SOPHOS_TOKEN, or HOST=127.0.0.1"
        return missing("Who may ask", f"HOST {host} is open to others, without a token", remedy)
    return good("Who may ask", f"others may, at {host}, with the token")


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


def data_folder(folder: Path) -> Finding:
    """Where what was said is kept: ours to write, and nobody else's to read."""
    subject = "Data folder"
    if not folder.exists():
        return good(subject, f"{folder} is made at the first start")
    if not folder.is_dir():
        return missing(subject, f"{folder} is no folder", "move it away")
    kept = [folder, *(path for path in folder.rglob("*") if path.suffix in KEPT)]
    if foreign := [path for path in kept if not os.access(path, os.R_OK | os.W_OK)]:
        remedy = f"make it yours: chown -R {getpass.getuser()} {folder}"
        return missing(subject, f"{foreign[0]} cannot be read and written", remedy)
    if os.name == "posix" and folder.stat().st_mode & READABLE_BY_OTHERS:
        remedy = f"on a machine with other users: chmod 700 {folder}"
        return note(subject, f"others on this machine can look into {folder}", remedy)
    return good(subject, f"{folder} is yours alone")


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
