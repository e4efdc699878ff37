"""`lab clean`: removes what the lab made. What a person may want to keep goes only with consent.

Standard library alone: it may remove the environment it would otherwise need.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from lab.environment import WINDOWS, Environment, here
from lab.failure import LabFailure
from lab.lockfile import is_held

CACHES: Final = (".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
SCATTERED: Final = ("__pycache__", ".ipynb_checkpoints")  # in any folder of ours
SOURCES: Final = ("sophos", "lab", "lessons", "tests")
PREDICTIONS: Final = "predictions.db"  # and what SQLite keeps beside it
# What is there, and what its loss means.
KEPT: Final = (
    ("data/db", "every conversation of yours"),
    ("data/memory", "everything the agent was told to remember"),
    ("data/lab/predictions.db", "what you predicted in the lessons, and why"),
    (".venv", "the Python packages; set-up installs them again, with the network"),
    (".mcp-servers", "the MCP servers; set-up installs them again, with the network"),
)


def main(arguments: Sequence[str]) -> int:
    """Remove the lab's workspaces, logs and caches. Nothing of yours goes without your word."""
    parser = argparse.ArgumentParser(prog="lab clean", description=main.__doc__, allow_abbrev=False)
    parser.add_argument(
        "--all",
        action="store_true",
        help="ask about data/db, data/memory, .venv and .mcp-servers too, one by one",
    )
    parser.add_argument("--yes", action="store_true", help="with --all: do not ask")
    options = parser.parse_args(arguments)
    if options.yes and not options.all:
        parser.error("--yes means something only with --all")
    consents = (lambda _: True) if options.yes else _ask
    clean(here(), everything=options.all, consents=consents)
    return 0


def clean(environment: Environment, *, everything: bool, consents: Callable[[str], bool]) -> None:
    """Remove the state of the lab and its caches; with `everything`, what `consents` agrees to."""
    _refuse_at_work(environment, everything=everything)
    for path in list(_made(environment.root)):
        _remove(path)
    print("Removed the lab's workspaces, logs and caches.")
    for name, loss in KEPT if everything else ():
        path = environment.root / name
        if not path.exists():
            continue
        if consents(f"Remove {name}: {loss}?"):
            for beside in path.parent.glob(f"{PREDICTIONS}-*") if path.is_file() else ():
                _remove(beside)
            _remove(path)
            print(f"Removed {name}.")
        else:
            print(f"Kept {name}.")


def _refuse_at_work(environment: Environment, *, everything: bool) -> None:
    if is_held(environment.session_lock):
        raise LabFailure("The lab is running here. Stop it first (Ctrl-C where it was started).")
    for owner in environment.state.glob("*/owner.json"):
        if _is_at_work(owner):
            raise LabFailure(f"A lesson is using {owner.parent}. Close its notebook first.")
    for lock in (environment.root / "data" / "db").glob("*.lock") if everything else ():
        if is_held(lock):
            raise LabFailure(f"A Sophos is using {lock.parent}. Stop it first.")


def _is_at_work(owner: Path) -> bool:
    """Whether the process that made a workspace still runs, judged by its pid alone."""
    if WINDOWS:
        return False  # asking there would end it; and its open files cannot be removed anyway
    try:
        os.kill(json.loads(owner.read_text(encoding="utf-8"))["pid"], 0)
    except PermissionError:
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def _made(root: Path) -> Iterator[Path]:
    lab = root / "data" / "lab"
    if lab.exists():
        yield from (path for path in lab.iterdir() if not path.name.startswith(PREDICTIONS))
    for name in CACHES:
        yield root / name
    for source in SOURCES:
        for name in SCATTERED:
            yield from (root / source).rglob(name)


def _remove(path: Path) -> None:
    try:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)
    except OSError as error:
        raise LabFailure(f"{error.filename} could not be removed: {error.strerror}.") from error


def _ask(question: str) -> bool:
    if not sys.stdin.isatty():
        print(f"{question} Nobody is there to ask; say --yes to mean it.")
        return False
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
