"""`lab doctor`: what is missing, and the remedy, one line each. It changes nothing.

Plain words from left to right: a screen reader reads a line as it stands.

Standard library alone: it runs where nothing may be installed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from lab.environment import Environment, Part, here
from lab.finding import Finding, Verdict, good, missing, note
from lab.programs import OLDEST_NODE, OLDEST_PYTHON, ask, find_uv, probe_node
from lab.record import database
from lab.session import read_session
from lab.surroundings import (
    browser,
    data_folder,
    disk,
    door,
    model,
    port,
    port_of,
    settings,
)
from lab.toolservers import tool_servers

JUPYTER_PORT: Final = 8888  # as in lab/notebooks.py
SITE_PORT: Final = 5174  # as in lab/children.py
SETUP: Final = "python3 -m lab setup"
ANEW: Final = "python3 -m lab clean --all, then python3 -m lab setup"


def main(arguments: Sequence[str]) -> int:
    """Say what is missing and what to do about it. Exit code 1 if anything is missing."""
    parser = argparse.ArgumentParser(
        prog="lab doctor", description=main.__doc__, allow_abbrev=False
    )
    parser.add_argument(
        "--model",
        choices=["scripted", "ollama"],
        default="scripted",
        help="with ollama, an Ollama that does not answer counts as missing",
    )
    parser.add_argument("--json", action="store_true", help="tell it as JSON, for a program")
    options = parser.parse_args(arguments)
    findings = []
    for finding in examine(here(), os.environ, ollama=options.model == "ollama"):
        findings.append(finding)
        if not options.json:
            print(finding, flush=True)
    lacking = sum(finding.verdict is Verdict.MISSING for finding in findings)
    if options.json:
        rows = [asdict(finding) for finding in findings]
        print(json.dumps({"missing": lacking, "findings": rows}, indent=2))
    else:
        print(f"Missing: {lacking or 'nothing'}, of {len(findings)} things that were looked at.")
    return 1 if lacking else 0


def examine(
    environment: Environment, environ: Mapping[str, str], *, ollama: bool = False
) -> Iterator[Finding]:
    """One finding after the other; some take a second."""
    config = environment.root / (environ.get("CONFIG_DIR") or "config")
    yield python(environment)
    yield uv(environment)
    if not environment.venv.exists():
        yield missing("Set-up", "nothing is installed here yet", "python3 -m lab")
    else:
        for part in environment.parts:
            yield in_step(part)
        yield node(environment)
        yield settings(environment.python, environ)
        yield from tool_servers(config, environ, SETUP)
    session = read_session(environment.state / "session.json")
    yield port(environ, session)
    yield port_of("JupyterLab", JUPYTER_PORT, session)
    yield port_of("the web site", SITE_PORT, session)
    yield door(environ)
    yield disk(environment)
    yield data_folder(environment.root / "data")
    path = environment.root / (environ.get("DATABASE_PATH") or "data/db/sophos.db")
    yield from database(path, environment.root / "sophos/storage/migrations")
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
        remedy = "nothing to do: set-up installs it when it has to install anything"
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
