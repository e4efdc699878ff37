"""A process is known again by its pid and its birth, and by nothing that can change."""

import os
import subprocess
import sys
from pathlib import Path

import psutil

from lab.facts import until
from lab.tree import birth


def test_a_process_is_born_once() -> None:
    assert birth(os.getpid()) == birth(os.getpid())
    assert birth(os.getpid()) is not None


def test_the_dead_have_no_birth() -> None:
    with subprocess.Popen([sys.executable, "-ISc", ""]) as child:
        zombie = psutil.Process(child.pid)
        until(lambda: zombie.status() == psutil.STATUS_ZOMBIE, what="the zombie")
        assert birth(child.pid) is None
    assert birth(child.pid) is None


def test_a_name_with_brackets_is_no_trouble(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b"
    program.symlink_to(Path(sys.executable).resolve())
    with subprocess.Popen([program, "-ISc", "input()"], stdin=subprocess.PIPE) as child:
        assert birth(child.pid) is not None
        child.kill()
