"""One holder at a time, and none after its death."""

import subprocess
import sys
from pathlib import Path

from lab.facts import until
from lab.lockfile import hold, is_held

HOLDER = """
import sys
from pathlib import Path
from lab.lockfile import hold
with hold(Path(sys.argv[1])) as descriptor:
    print(descriptor is not None, flush=True)
    sys.stdin.read()
"""


def test_what_one_holds_another_cannot(tmp_path: Path) -> None:
    with hold(tmp_path / "lock") as first, hold(tmp_path / "lock") as second:
        assert first is not None
        assert second is None
    with hold(tmp_path / "lock") as third:
        assert third is not None


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert is_held(path)
        holder.kill()
        holder.wait()
        until(lambda: not is_held(path), what="the lock let go")


def test_asking_about_a_lock_that_nobody_took_makes_no_file(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "lock")
    assert not (tmp_path / "lock").exists()
