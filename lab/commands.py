"""What `python3 -m lab …` can do: one row per command.

Standard library alone: this is read before anything is installed. A command that needs packages
is a module of its own, run by the environment's Python once set-up is through.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from lab.environment import WINDOWS, Environment, here
from lab.failure import LabFailure
from lab.installer import set_up


@dataclass(frozen=True, kw_only=True)
class Command:
    """A name, what it does, and the module that does it."""

    name: str
    meaning: str
    module: str
    # Without packages, the module's `main(arguments) -> int` is called in this process.
    needs_packages: bool


COMMANDS: Final = (
    Command(
        name="start",
        meaning="start the model, Sophos and JupyterLab, and say where (what `lab` alone does)",
        module="lab.start",
        needs_packages=True,
    ),
    Command(
        name="test",
        meaning="run every test; what follows is handed to pytest",
        module="pytest",
        needs_packages=True,
    ),
    Command(
        name="matrix",
        meaning="kill Sophos at every point, resume it, and say what became of it",
        module="lab.crash.command",
        needs_packages=True,
    ),
    Command(
        name="measure",
        meaning="say how fast it is here, as tables",
        module="lab.measure",
        needs_packages=True,
    ),
    Command(
        name="setup",
        meaning="install what the lock files name, and stop there",
        module="lab.installer",
        needs_packages=False,
    ),
    Command(
        name="doctor",
        meaning="say what is missing, and what to do about it",
        module="lab.doctor",
        needs_packages=False,
    ),
    Command(
        name="clean",
        meaning="remove what the lab made; your conversations only if you say so",
        module="lab.clean",
        needs_packages=False,
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code: 0 well, 1 not, 2 not understood, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # As an exception, so that a program at work is ended before we are.
    signal.signal(signal.SIGTERM, _leave)
    try:
        return _dispatch(words)
    except LabFailure as failure:
        print(f"lab: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlab: stopped.", file=sys.stderr)
        return 128 + signal.SIGINT


def _dispatch(words: list[str]) -> int:
    if words[:1] in (["--help"], ["-h"], ["help"]):
        print(overview())
        return 0
    name, rest = (
        ("start", words) if not words or words[0].startswith("-") else (words[0], words[1:])
    )
    command = next((command for command in COMMANDS if command.name == name), None)
    if command is None:
        print(f"lab: there is no command {name!r}.\n\n{overview()}", file=sys.stderr)
        return 2
    if not command.needs_packages:
        run: Callable[[list[str]], int] = importlib.import_module(command.module).main
        return run(rest)
    environment = here()
    set_up(environment)
    return run_inside(environment, command.module, rest)


def overview() -> str:
    """The commands, one line each."""
    lines = [f"  {command.name:<8} {command.meaning}" for command in COMMANDS]
    return "\n".join(
        [
            "python3 -m lab [command] [options]",
            "",
            *lines,
            "",
            "`python3 -m lab start --help` lists the options of one command.",
        ]
    )


def run_inside(environment: Environment, module: str, arguments: Sequence[str]) -> int:
    """Become the environment's Python, running a module from the project's folder."""
    command = [str(environment.python), "-m", module, *arguments]
    os.chdir(environment.root)
    if WINDOWS:
        # There, exec would let the shell go on before we have ended.
        return subprocess.run(command, check=False).returncode
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        raise LabFailure(
            f"{command[0]} does not run ({error.strerror})."
            " Make the environment anew: python3 -m lab clean --all"
        ) from error


def _leave(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)
