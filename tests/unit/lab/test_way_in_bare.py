"""The way in needs a Python and nothing else, and tells one that is too old."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lab.commands import COMMANDS, main, overview
from lab.programs import OLDEST_PYTHON
from lab.start import command_line

ROOT = Path(__file__).parents[3]
FRONT_DOOR = ROOT / "lab" / "__main__.py"
BARE = [command.module for command in COMMANDS if not command.needs_packages]


def test_a_python_that_is_too_old_can_read_the_front_door() -> None:
    ast.parse(FRONT_DOOR.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_a_python_that_is_too_old_is_told_in_one_line() -> None:
    pretend = "import runpy, sys; sys.version_info = (3, 8, 18); runpy.run_module('lab')"
    told = subprocess.run(
        [sys.executable, "-c", pretend], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert told.returncode == 1
    assert told.stderr.startswith("Sophos needs Python 3.11 or newer, and this is 3.8.")
    assert len(told.stderr.splitlines()) == 1


def test_the_oldest_python_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">={}.{}".format(*OLDEST_PYTHON)
    assert f"OLDEST_PYTHON = {OLDEST_PYTHON}" in FRONT_DOOR.read_text(encoding="utf-8")


def test_what_runs_before_set_up_imports_the_standard_library_alone() -> None:
    look = (
        f"import importlib, sys; sys.path.insert(0, {str(ROOT)!r})\n"
        f"for name in ('lab.__main__', *{BARE!r}): importlib.import_module(name)\n"
        "tops = {name.partition('.')[0] for name in sys.modules}\n"
        "print(*sorted(tops - set(sys.stdlib_module_names)))"
    )
    seen = subprocess.run(
        [sys.executable, "-I", "-S", "-c", look], capture_output=True, text=True, check=True
    )
    assert seen.stdout.split() == ["__main__", "lab"]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_its_module_and_its_line(command: object) -> None:
    assert importlib.util.find_spec(command.module)  # type: ignore[attr-defined]  # a Command
    assert f"  {command.name} " in overview()  # type: ignore[attr-defined]  # a Command


def test_the_readme_has_every_command_and_every_option() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([\w-]+)", text, flags=re.MULTILINE))
    options = re.findall(r"^  (--[\w-]+)", command_line().format_help(), flags=re.MULTILINE)
    assert {command.name for command in COMMANDS} | set(options) <= rows


def test_a_command_that_there_is_not_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["strat"]) == 2
    assert overview() in capsys.readouterr().err
