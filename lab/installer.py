"""Set-up: makes each part that is not in step with its lock file, and nothing twice.

Durable: the parts and their stamps. A set-up that is killed leaves its mark, and the next one
starts that part from nothing. Two at once: the second waits, then finds the work done.
Standard library alone: this is what installs everything else.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lab.environment import Environment, Part, here, python_in
from lab.failure import LabFailure
from lab.lockfile import hold
from lab.programs import OLDEST_PYTHON, ask, find_npm, find_uv, packaged_node, system_node
from lab.steps import Meter, Steps

UV: Final = "uv==0.13.9"
NEEDED_SPACE: Final = 300_000_000  # bytes; with less than this no part can be made
# Of the caller's environment, what would send uv elsewhere or make it forget what we ask for.
UNWANTED: Final = frozenset(
    {"VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "UV_FROZEN"}
    | {"UV_NO_SYNC", "UV_NO_DEV", "UV_PYTHON", "UV_SYSTEM_PYTHON", "NODE_OPTIONS"}
)


def main(arguments: Sequence[str]) -> int:
    """`lab setup`: set-up alone."""
    parser = argparse.ArgumentParser(prog="lab setup", description=main.__doc__, allow_abbrev=False)
    parser.parse_args(arguments)
    environment = here()
    changed = set_up(environment)
    print(f"{environment.root} is set up." if changed else "Everything is in place already.")
    return 0


def set_up(environment: Environment) -> bool:
    """Bring every part in step with its lock file. Returns whether there was anything to do."""
    if all(part.in_step() for part in environment.parts):
        return False
    try:
        with _alone(environment.state / "setup.lock") as descriptor:
            steps = Steps(log=environment.logs / "setup.log", held=descriptor)
            Installer(environment, steps).make_all()
    except OSError as error:
        raise LabFailure(
            f"Set-up could not write {error.filename or environment.root}: {error.strerror}."
            " Mend that (space, rights), then run this again."
        ) from error
    return True


class Installer:
    def __init__(self, environment: Environment, steps: Steps) -> None:
        self._environment = environment
        self._steps = steps

    def make_all(self) -> None:
        environment = self._environment
        makers = (
            (environment.packages_part, self._make_packages),
            (environment.fetch_part, self._make_fetch),
            (environment.node_part, self._make_node),
            (environment.memory_part, self._make_memory),
        )
        # Before the mark: a folder that carries it is emptied by the next set-up.
        _refuse_foreign(environment.packages_part)
        for part, make in makers:
            if part.in_step():
                continue
            free = shutil.disk_usage(environment.root).free
            if free < NEEDED_SPACE:
                raise LabFailure(
                    f"Only {free // 1_000_000} MB are free on the disk of {environment.root}."
                    " The lab needs about 1.5 GB: free some space, then run this again."
                )
            with part.remade() as again:
                make(part, again=again)

    def _make_packages(self, part: Part, *, again: bool) -> None:
        self._make_venv(part)
        self._sync(part, project=self._environment.root, again=again)

    def _make_fetch(self, part: Part, *, again: bool) -> None:
        self._make_venv(part)
        self._sync(part, project=self._environment.pins("fetch"), again=again)

    def _make_node(self, part: Part, *, again: bool) -> None:
        own = system_node()
        if own is None:
            self._make_venv(part)
            self._sync(part, project=self._environment.pins("node"), again=again)
        program = own.program if own else packaged_node(self._environment)
        if program is None:
            raise LabFailure("There is no Node package for this kind of machine. Install Node 20.")
        _link(self._environment.node, program)

    def _make_memory(self, part: Part, **_: bool) -> None:
        for source in part.sources:
            shutil.copy(source, part.folder)
        npm = find_npm(self._environment)
        if not npm:
            raise LabFailure("npm is missing. Install Node 20 with its npm, then run this again.")
        # npm's own scripts look for `node` on PATH.
        path = f"{self._environment.node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        quiet = ("--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline")
        self._steps.run(
            f"Installing {part.title}",
            [*npm, "ci", *quiet, "--no-update-notifier"],
            environ=_environ(PATH=path),
            folder=part.folder,
        )

    def _make_venv(self, part: Part) -> None:
        """Make a virtual environment unless there is one that works."""
        folder = part.folder
        if _is_usable(python_in(folder)):
            return
        part.empty()
        if importlib.util.find_spec("venv") is None:
            raise LabFailure(_no_venv())
        self._steps.run(
            f"Making {folder.name}",
            # Without pip: it takes seconds, and with a uv on PATH nobody asks for it.
            [sys.executable, "-m", "venv", "--without-pip", folder],
            environ=_environ(),
            folder=folder.parent,
        )

    def _install_uv(self) -> Path:
        environment, python = self._environment, self._environment.python
        if ask(python, "-m", "pip", "--version") is None:
            if importlib.util.find_spec("ensurepip") is None:
                raise LabFailure(_no_venv())
            self._run("Installing pip", python, "-m", "ensurepip", "--default-pip")
        quiet = ("--disable-pip-version-check", "--force-reinstall", "--no-deps")
        self._run("Installing uv", python, "-m", "pip", "install", *quiet, UV)
        uv = find_uv(environment)
        if uv is None:
            raise LabFailure(f"{UV} was installed but does not run. Install uv yourself.")
        return uv

    def _sync(self, part: Part, *, project: Path, again: bool) -> None:
        # Each time: in an environment that a uv made, a sync removes the uv we put there.
        uv = find_uv(self._environment) or self._install_uv()
        # Only where the folder could not be removed, since we run from it.
        flags = ("--reinstall",) if again else ()
        places = ("--project", project, "--python", python_in(part.folder))
        self._steps.run(
            f"Installing {part.title}",
            [uv, "sync", "--locked", "--compile-bytecode", "--no-progress", *flags, *places],
            environ=_environ(UV_PROJECT_ENVIRONMENT=str(part.folder), UV_PYTHON_DOWNLOADS="never"),
            folder=project,
        )

    def _run(self, title: str, *command: str | Path) -> None:
        self._steps.run(title, command, environ=_environ(), folder=self._environment.root)


@contextmanager
def _alone(path: Path) -> Iterator[int]:
    """Wait until no other set-up of this checkout is at work."""
    meter = Meter("Waiting for another set-up")
    while True:
        with hold(path) as descriptor:
            if descriptor is not None:
                meter.end("it ended")
                yield descriptor
                return
        meter.tick()
        time.sleep(0.1)


def _refuse_foreign(part: Part) -> None:
    folder = part.folder
    if not folder.exists() or part.mark.exists() or (folder / "pyvenv.cfg").exists():
        return
    if not folder.is_dir() or any(folder.iterdir()):
        raise LabFailure(
            f"{folder} is there and is not a virtual environment. Move it elsewhere,"
            " then run this again."
        )


def _is_usable(python: Path) -> bool:
    answer = ask(python, "-c", "import sys; print(*sys.version_info[:2])")
    return answer is not None and tuple(map(int, answer.split())) >= OLDEST_PYTHON


def _link(link: Path, target: Path) -> None:
    """Put a link, or a copy where links are not allowed, in one step."""
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        fresh.symlink_to(target)
    except OSError:
        shutil.copy2(target, fresh)
    fresh.replace(link)


def _no_venv() -> str:
    version = "{}.{}".format(*sys.version_info)
    return (
        f"This Python ({sys.executable}) comes without the means to make an environment. On Debian"
        f" or Ubuntu: apt install python{version}-venv. Or install uv. Then run this again."
    )


def _environ(**more: str) -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if name not in UNWANTED} | more
