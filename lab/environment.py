"""What set-up installs in the project's folder, and whether it is in step with the lock files.

    .venv                   every Python package of uv.lock
    .mcp-servers/node       Node and npm, for machines that have none of their own
    .mcp-servers/bin/node   the Node that the Memory server runs on
    .mcp-servers/memory     the Memory server, from its package-lock.json
    .mcp-servers/fetch      the Fetch server, from its uv.lock

All of it is on disk and can be made again. A part's folder holds a mark from the first change
until its stamp is written, so a part that was cut off half way is never taken as done.
Standard library alone: this is read before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.failure import LabFailure

WINDOWS: Final = os.name == "nt"
EXE: Final = ".exe" if WINDOWS else ""
# Changes when set-up does something else with the same lock files.
RECIPE: Final = "1"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One thing that set-up makes: its folder, what it is made from, what must be there after."""

    title: str
    folder: Path
    sources: tuple[Path, ...]
    witnesses: tuple[Path, ...]

    @property
    def stamp(self) -> Path:
        return self.folder / ".stamp"

    @property
    def mark(self) -> Path:
        return self.folder / ".unfinished"

    def fingerprint(self) -> str:
        """What the part is made from, as a hash: the lock files and the place it stands."""
        # Scripts of a virtual environment hold its absolute path: a moved one is made again.
        digest = hashlib.sha256(f"{RECIPE}\n{self.folder}\n".encode())
        for source in self.sources:
            try:
                content = source.read_bytes()
            except FileNotFoundError as error:
                raise LabFailure(
                    f"{source} is missing. The lab runs from a whole checkout of the project."
                ) from error
            digest.update(f"{source.name} {len(content)}\n".encode())
            digest.update(content)
        return digest.hexdigest()

    def in_step(self) -> bool:
        """Whether the part is whole and made from the lock files as they are now."""
        try:
            stamp = self.stamp.read_text()
        except OSError:
            return False
        return (
            stamp == self.fingerprint()
            and not self.mark.exists()
            and all(witness.exists() for witness in self.witnesses)
        )

    @contextmanager
    def remade(self) -> Iterator[bool]:
        """Change the part inside the block; it counts as done only if the block ends well.

        Yields whether the folder holds leftovers of a set-up that was cut off.
        """
        unfinished = self.mark.exists()
        if unfinished and not self.is_running():
            self.empty()
            unfinished = False
        self.folder.mkdir(parents=True, exist_ok=True)
        self.mark.touch()
        self.stamp.unlink(missing_ok=True)
        yield unfinished
        self.stamp.write_text(self.fingerprint())
        self.mark.unlink()

    def empty(self) -> None:
        """Remove everything in the folder but the mark: this too may be cut off half way."""
        for path in self.folder.iterdir():
            if path == self.mark:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def is_running(self) -> bool:
        """Whether this very process runs from the part's folder."""
        return Path(sys.prefix).resolve() == self.folder.resolve()


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The places in one checkout."""

    root: Path

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return python_in(self.venv)

    @property
    def servers(self) -> Path:
        return self.root / ".mcp-servers"

    @property
    def node(self) -> Path:
        return self.servers / "bin" / f"node{EXE}"

    @property
    def fetch_python(self) -> Path:
        return python_in(self.servers / "fetch")

    @property
    def memory_script(self) -> Path:
        package = self.servers / "memory/node_modules/@modelcontextprotocol/server-memory"
        return package / "dist/index.js"

    @property
    def state(self) -> Path:
        """What the lab itself keeps; it may be deleted whenever the lab is not running."""
        return self.root / "data" / "lab"

    @property
    def logs(self) -> Path:
        return self.state / "log"

    @property
    def session_lock(self) -> Path:
        """Held while a lab runs from this checkout."""
        return self.state / "session.lock"

    def pins(self, server: str) -> Path:
        """The folder with the lock file of one MCP server, or of Node."""
        return self.root / "config" / "mcp-servers" / server

    @property
    def packages_part(self) -> Part:
        return Part(
            title="the Python packages",
            folder=self.venv,
            sources=(self.root / "pyproject.toml", self.root / "uv.lock"),
            witnesses=(self.python,),
        )

    @property
    def node_part(self) -> Part:
        pins = self.pins("node")
        return Part(
            title="Node",
            folder=self.servers / "node",
            sources=(pins / "pyproject.toml", pins / "uv.lock"),
            witnesses=(self.node,),
        )

    @property
    def memory_part(self) -> Part:
        pins = self.pins("memory")
        return Part(
            title="the Memory server",
            folder=self.servers / "memory",
            sources=(pins / "package.json", pins / "package-lock.json"),
            witnesses=(self.memory_script,),
        )

    @property
    def fetch_part(self) -> Part:
        pins = self.pins("fetch")
        return Part(
            title="the Fetch server",
            folder=self.servers / "fetch",
            sources=(pins / "pyproject.toml", pins / "uv.lock"),
            witnesses=(self.fetch_python, script_in(self.servers / "fetch", "mcp-server-fetch")),
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything set-up makes, in the order it must be made."""
        return (self.packages_part, self.fetch_part, self.node_part, self.memory_part)


def here() -> Environment:
    """The checkout this module belongs to."""
    return Environment(root=Path(__file__).resolve().parent.parent)


def script_in(venv: Path, name: str) -> Path:
    return venv / ("Scripts" if WINDOWS else "bin") / f"{name}{EXE}"


def python_in(venv: Path) -> Path:
    return script_in(venv, "python")
