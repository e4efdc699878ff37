"""`lab doctor`: what is missing, and the remedy, one line each. It changes nothing.

Standard library alone: it runs where nothing may be installed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from lab.environment import Environment, Part, here
from lab.finding import Finding, Verdict, good, missing, note
from lab.handshake import NoAnswer, introduce
from lab.programs import OLDEST_NODE, OLDEST_PYTHON, ask, find_uv, probe_node
from lab.surroundings import browser, database, disk, model, port

SETUP: Final = "python3 -m lab setup"
ANEW: Final = "python3 -m lab clean --all, then python3 -m lab setup"


def main(arguments: Sequence[str]) -> int:
    """Say what is missing and what to do about it. Exit code 1 if anything is missing."""
    parser = argparse.ArgumentParser(prog="lab doctor", description=main.__doc__)
    parser.add_argument(
        "--model",
        choices=["scripted", "ollama"],
        default="scripted",
        help="with ollama, an Ollama that does not answer counts as missing",
    )
    options = parser.parse_args(arguments)
    verdicts = set()
    for finding in examine(here(), os.environ, ollama=options.model == "ollama"):
        print(finding, flush=True)
        verdicts.add(finding.verdict)
    return 1 if Verdict.MISSING in verdicts else 0


def examine(
    environment: Environment, environ: Mapping[str, str], *, ollama: bool = False
) -> Iterator[Finding]:
    """One finding after the other; some take a second."""
    yield python(environment)
    yield uv(environment)
    if not environment.venv.exists():
        yield missing("Set-up", "nothing is installed here yet", "python3 -m lab")
    else:
        for part in environment.parts:
            yield in_step(part)
        yield node(environment)
        yield fetch_server(environment, environ)
        yield memory_server(environment, environ)
    yield port(environ)
    yield disk(environment)
    yield database(environment.root / (environ.get("DATABASE_PATH") or "data/db/sophos.db"))
    yield model(environ, needed=ollama)
    yield browser()


def python(environment: Environment) -> Finding:
    """The environment's Python, or ours while there is none."""
    if not environment.venv.exists():
        return good("Python", "{}.{}.{} runs this".format(*sys.version_info))
    answer = ask(environment.python, "-c", "import platform; print(platform.python_version())")
    if answer is None:
        return missing("Python", f"{environment.python} does not run", ANEW)
    version = tuple(int(part) for part in answer.split(".")[:2])
    if version < OLDEST_PYTHON:
        return missing("Python", f"{environment.python} is {answer}", ANEW)
    return good("Python", f"{answer} in .venv")


def uv(environment: Environment) -> Finding:
    program = find_uv(environment)
    if program is None:
        remedy = "none needed: set-up installs it when it has to install anything"
        return note("uv", "neither on PATH nor in .venv", remedy)
    return good("uv", f"{ask(program, '--version')}, {program}")


def in_step(part: Part) -> Finding:
    subject = part.title.removeprefix("the ")
    if part.in_step():
        return good(subject, "in step with the lock file")
    seen = "half made" if part.mark.exists() else "not in step with the lock file"
    return missing(subject, seen, SETUP)


def node(environment: Environment) -> Finding:
    found = probe_node(environment.node)
    if found is None:
        oldest = ".".join(map(str, OLDEST_NODE))
        there = environment.node.is_symlink() or environment.node.exists()
        remedy = f"rm {environment.node}, then {SETUP}" if there else SETUP
        return missing(
            "Node runs", f"{environment.node} is not a Node of {oldest} or newer", remedy
        )
    return good("Node runs", f"{found.version}, {found.program}")


def fetch_server(environment: Environment, environ: Mapping[str, str]) -> Finding:
    """Whether Fetch starts, with no Node in sight, as in config/mcp.json."""
    python = environment.fetch_python
    path = {"PATH": str(python.parent)}
    return _starts("Fetch starts", [python, "-m", "mcp_server_fetch"], {**environ, **path})


def memory_server(environment: Environment, environ: Mapping[str, str]) -> Finding:
    """Whether Memory starts, on a graph of its own."""
    with tempfile.TemporaryDirectory() as folder:
        graph = {"MEMORY_FILE_PATH": str(Path(folder) / "memory.jsonl")}
        command = [environment.node, environment.memory_script]
        return _starts("Memory starts", command, {**environ, **graph})


def _starts(subject: str, command: Sequence[str | Path], environ: Mapping[str, str]) -> Finding:
    try:
        return good(subject, introduce(command, environ))
    except NoAnswer as error:
        return missing(subject, str(error), SETUP)
