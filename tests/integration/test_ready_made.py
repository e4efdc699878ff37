"""Dev container and Binder: files that only other people's machines read. What they say is run here."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from lab import doctor
from lab.children import JUPYTER_PORT, SITE_PORT
from lab.commands import COMMANDS
from lab.environment import here
from lab.notebooks import FIRST_PORT
from sophos.settings import Settings

ROOT: Final = Path(__file__).parents[2]
# What a dev container may say, of what ours has need of (containers.dev, "image" form).
PROPERTIES: Final = {
    *("name", "image", "forwardPorts", "portsAttributes", "otherPortsAttributes"),
    *("postCreateCommand", "postAttachCommand", "hostRequirements", "customizations"),
}
PORT_PROPERTIES: Final = {"label", "onAutoForward", "requireLocalPort"}


def dev_container() -> dict[str, Any]:
    text = (ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def binder(home: Path) -> dict[str, str]:
    """What Binder's own environment has: Jupyter on the path, a home, and room for what is left."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"HOME": str(home), "CONDA_PREFIX": sys.prefix, "PATH": path, "TMPDIR": str(home)}


def run(*command: str, home: Path) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **binder(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_dev_container_says_nothing_that_there_is_not() -> None:
    document = dev_container()
    assert document.keys() <= PROPERTIES
    for attributes in [*document["portsAttributes"].values(), document["otherPortsAttributes"]]:
        assert attributes.keys() <= PORT_PROPERTIES
        assert attributes["onAutoForward"] in {"notify", "silent", "ignore"}


def test_the_dev_container_forwards_the_ports_of_the_lab() -> None:
    ports = dev_container()["forwardPorts"]
    assert ports == [FIRST_PORT, Settings().port, SITE_PORT]
    assert (JUPYTER_PORT, doctor.JUPYTER_PORT, doctor.SITE_PORT) == (FIRST_PORT,) * 2 + (SITE_PORT,)
    assert [int(port) for port in dev_container()["portsAttributes"]] == ports


def test_the_dev_container_has_the_python_of_the_images() -> None:
    dockerfile = (ROOT / "config/images/Dockerfile").read_text(encoding="utf-8")
    [version] = set(re.findall(r"^FROM python:([\d.]+)-", dockerfile, re.MULTILINE))
    assert dev_container()["image"] == f"python:{version}-bookworm"


@pytest.mark.parametrize("when", ["postCreateCommand", "postAttachCommand"])
def test_its_commands_are_the_way_in(when: str) -> None:
    python, flag, module, command, *options = shlex.split(dev_container()[when])
    assert (python, flag, module) == ("python3", "-m", "lab")
    assert command in {known.name for known in COMMANDS}
    said = subprocess.run(
        [sys.executable, "-m", "lab", command, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert all(option in said for option in options)


def test_binder_builds_with_the_way_in_and_opens_the_lessons_on_its_environment(
    tmp_path: Path,
) -> None:
    assert (ROOT / ".binder/runtime.txt").read_text() == "python-3.13\n"
    assert "in place already" in run(str(ROOT / ".binder/postBuild"), home=tmp_path)
    seen = run(
        str(ROOT / ".binder/start"), "jupyter", "kernelspec", "list", "--json", home=tmp_path
    )
    kernel = json.loads(seen)["kernelspecs"]["python3"]
    assert kernel["spec"]["argv"][0] == str(here().python)
    assert kernel["spec"]["display_name"] == "Python 3 (Sophos)"
