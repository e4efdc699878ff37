"""config/images/Dockerfile, read and carried out without an engine: each stage becomes a folder.

A step runs as it stands, in the stage's folder, with what set-up left in the caches of uv and npm,
and only if that is not enough from the registries. Three things are otherwise than in an engine:
a base image is this machine's own Python and Node; `pip install uv` is the uv that set-up found or
installed, whatever PATH says; and /app and /data are folders below the stage's.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lab.environment import here
from lab.installer import UV
from lab.programs import find_uv

ROOT: Final = Path(__file__).parents[2]
DOCKERFILE: Final = ROOT / "config" / "images" / "Dockerfile"
INSTALLS_UV: Final = "pip install --no-cache-dir --root-user-action=ignore "
# Quicker, and the same files: the caches are linked to, and nothing is compiled ahead.
QUICK: Final = {"UV_COMPILE_BYTECODE": "0", "UV_LINK_MODE": "hardlink"}
CACHES_ALONE: Final = {"UV_OFFLINE": "1", "npm_config_offline": "true"}
# Where a path of the image begins: not in the middle of another path or URL.
_PLACE: Final = re.compile(r"(?<![\w./:-])/(app|data)(?![\w-])")
_NODE: Final = "/usr/local/bin/node"


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One FROM and what follows it."""

    name: str
    base: str
    steps: tuple[tuple[str, str], ...]

    def last(self, instruction: str) -> str | None:
        """The argument of the last such instruction."""
        return next((text for word, text in reversed(self.steps) if word == instruction), None)

    def all(self, instruction: str) -> list[str]:
        return [text for word, text in self.steps if word == instruction]


def read_stages(text: str | None = None) -> dict[str, Stage]:
    """The stages by name, in order."""
    content = DOCKERFILE.read_text(encoding="utf-8") if text is None else text
    lines = (line.strip() for line in content.replace("\\\n", " ").splitlines())
    stages: dict[str, Stage] = {}
    name, base, steps = "", "", list[tuple[str, str]]()
    for line in [*(line for line in lines if line and not line.startswith("#")), "FROM - AS -"]:
        word, _, rest = line.partition(" ")
        if word != "FROM":
            steps.append((word, rest.strip()))
            continue
        if name:
            stages[name] = Stage(name=name, base=base.strip(), steps=tuple(steps))
        base, _, name = rest.partition(" AS ")
        steps = []
    return stages


def command_of(stages: Mapping[str, Stage], name: str, command: list[str] | None) -> list[str]:
    """What a container of the image runs, with `command` from compose.yaml in place of CMD."""
    stage = stages[name]
    entry = json.loads(stage.last("ENTRYPOINT") or "[]")
    return [*entry, *(command or json.loads(stage.last("CMD") or "[]"))]


@dataclass(frozen=True)
class Builder:
    """Carries stages out below `folder`, each once."""

    folder: Path
    stages: Mapping[str, Stage] = field(default_factory=read_stages)
    done: dict[str, dict[str, str]] = field(default_factory=dict)

    def place(self, name: str) -> Path:
        """The root of the stage's file system."""
        return self.folder / name

    def mapped(self, name: str, text: str) -> str:
        """`text` with the image's paths replaced by where they are."""
        text = text.replace(_NODE, str(ROOT / ".mcp-servers/bin/node"))
        return _PLACE.sub(lambda found: f"{self.place(name)}/{found[1]}", text)

    def build(self, name: str) -> Path:
        """Returns the root of the stage's file system. Raises AssertionError if a step fails."""
        self._environment(name)
        return self.place(name)

    def _environment(self, name: str) -> dict[str, str]:
        if name in self.done:
            return self.done[name]
        if name not in self.stages:
            return {}  # a base image
        stage = self.stages[name]
        environment = dict(self._environment(stage.base))
        root = self.place(name)
        if self.place(stage.base).exists():
            shutil.copytree(self.place(stage.base), root, symlinks=True)
        root.mkdir(parents=True, exist_ok=True)
        folder = root
        for word, text in stage.steps:
            if word == "WORKDIR":
                folder = Path(self.mapped(name, text))
                folder.mkdir(parents=True, exist_ok=True)
            elif word == "ENV":
                environment.update(dict(pair.split("=", 1) for pair in shlex.split(text)))
            elif word == "COPY":
                self._copy(name, folder, text)
            elif word == "RUN":
                self._run(name, folder, text, environment)
            else:
                assert word in {"USER", "CMD", "ENTRYPOINT"}, f"{word} is not known here"
        self.done[name] = environment
        return environment

    def _copy(self, name: str, folder: Path, text: str) -> None:
        words = shlex.split(text)
        flags = dict(word[2:].split("=") for word in words if word.startswith("--"))
        *sources, last = [word for word in words if not word.startswith("--")]
        if sources == [_NODE]:
            return  # this machine's, see `mapped`
        target = folder / self.mapped(name, last)
        for source in sources:
            if "from" in flags:
                self._environment(flags["from"])
                origin = Path(self.mapped(flags["from"], source))
            else:
                origin = ROOT / source
                assert not left_out(source), f"{source} is in .dockerignore"
            if origin.is_dir():
                ignore = None if "from" in flags else _ignored
                shutil.copytree(origin, target, symlinks=True, ignore=ignore, dirs_exist_ok=True)
            else:
                into = target / origin.name if last.endswith("/") else target
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(origin, into)

    def _run(self, name: str, folder: Path, text: str, environment: Mapping[str, str]) -> None:
        if text.startswith(INSTALLS_UV):
            assert text.removeprefix(INSTALLS_UV) == UV
            self._give_uv()
            return
        if os.geteuid() != 0:
            text = text.replace("-o 10001 -g 10001 ", "")  # only root gives files away
        base = {**os.environ, "UV_PYTHON": sys.executable} | dict(environment) | QUICK
        base["PATH"] = f"{self._programs}{os.pathsep}{os.environ['PATH']}"
        base.pop("VIRTUAL_ENV", None)
        command = self.mapped(name, text)
        if _carried_out(command, folder, {**base, **CACHES_ALONE}):
            said = _carried_out(command, folder, base)
            assert not said, f"RUN {text}\n{said}"

    @property
    def _programs(self) -> Path:
        """What a step finds before this machine's programs."""
        return self.folder / "bin"

    def _give_uv(self) -> None:
        uv = find_uv(here())
        assert uv is not None, "Set-up leaves a uv, on PATH or in its environment."
        self._programs.mkdir(exist_ok=True)
        (self._programs / "uv").symlink_to(uv)


def _carried_out(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Empty, or what the command said when it failed."""
    ended = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return f"exit code {ended.returncode}\n{ended.stdout[-4000:]}" if ended.returncode else ""


def _patterns() -> Iterator[str]:
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def left_out(path: str) -> bool:
    """Whether .dockerignore keeps the path, relative to the root, out of every image."""
    parts = Path(path).parts
    for pattern in _patterns():
        name = pattern.removeprefix("**/")
        candidates = parts if pattern.startswith("**/") else parts[:1]
        if any(fnmatch.fnmatch(part, name) for part in candidates):
            return True
    return False


def _ignored(folder: str, names: list[str]) -> set[str]:
    below = Path(folder).relative_to(ROOT)
    return {name for name in names if left_out(str(below / name))}
