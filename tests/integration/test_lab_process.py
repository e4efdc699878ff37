"""A lab process lives as long as its owner wants it, and never longer than its owner."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.facts import NotSeen, until
from lab.process import Process, ProcessError
from lab.tree import birth

CHILD = """
import json, os, pathlib, signal, sys, time
ready, mode = pathlib.Path(sys.argv[1]), sys.argv[2]
if mode == "fails":
    sys.exit("no such luck")
if mode == "never ready":
    sys.stdin.read()
if mode == "parent":
    import subprocess
    child = subprocess.Popen([sys.executable, "-ISc", "import sys; sys.stdin.read()"], stdin=-1)
if mode == "leaks":
    import subprocess
    child = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(600)"])
if mode == "says much":
    print("x" * 1_000_000)
if mode == "says how":
    def told(number, _):
        print("told", signal.Signals(number).name, flush=True)
        sys.exit(7)
    signal.signal(signal.SIGTERM, told), signal.signal(signal.SIGINT, told)
print("hello from", mode, flush=True)
other = ready.with_suffix(".tmp")
other.write_text(json.dumps({"pid": os.getpid(), "url": "http://127.0.0.1:1"}))
other.replace(ready)
sys.stdin.read()
"""

KERNEL = """
import pathlib, sys, time
from lab.process import Process
directory, mode = pathlib.Path(sys.argv[1]), sys.argv[2]
command = [sys.executable, "-ISc", sys.argv[3], str(directory / "child.ready.json"), "says how"]
child = Process("child", command, directory=directory)
child.start()
if mode == "frozen":
    child.freeze()
try:
    print(child.pid, flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    child.stop()
    print(child.log())
"""


def child(directory: Path, mode: str = "plain", name: str = "child") -> Process:
    command = [sys.executable, "-ISc", CHILD, str(directory / f"{name}.ready.json"), mode]
    return Process(name, command, directory=directory)


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Process]:
    process = child(tmp_path)
    process.start()
    yield process
    process.kill()


def kernel(directory: Path, mode: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    """A process like a notebook's kernel, and the lab process it has started."""
    owner = subprocess.Popen(
        [sys.executable, "-c", KERNEL, str(directory), mode, CHILD],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert owner.stdout is not None
    return owner, psutil.Process(int(owner.stdout.readline()))


def gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_start_waits_until_the_child_says_it_is_ready(plain: Process) -> None:
    assert plain.ready["pid"] == plain.pid
    assert plain.is_alive
    assert plain.log() == "hello from plain"


def test_a_child_that_dies_at_start_is_an_error_that_shows_its_log(tmp_path: Path) -> None:
    process = child(tmp_path, "fails")
    with pytest.raises(ProcessError, match=r"child#1 .* exit status 1(.|\n)*no such luck"):
        process.start()
    assert not process.is_alive


def test_a_start_that_is_interrupted_leaves_no_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.process.READY_WITHIN", 0)
    process = child(tmp_path, "never ready")
    with pytest.raises(NotSeen, match="the ready file of child#1"):
        process.start()
    assert not process.is_alive


def test_stop_and_interrupt_reach_the_child_as_signals(tmp_path: Path) -> None:
    process = child(tmp_path, "says how")
    process.start()
    assert process.stop() == 7
    assert "told SIGTERM" in process.log()
    process.start()
    assert process.interrupt() == 7
    assert "told SIGINT" in process.log()


def test_kill_reaps_the_child_and_sees_its_descendants_gone(tmp_path: Path) -> None:
    process = child(tmp_path, "parent")
    process.start()
    descendants = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    assert len(descendants) == 1
    assert all(map(gone, descendants))
    assert not psutil.pid_exists(process.pid)
    assert process.exit_status == -signal.SIGKILL


def test_a_descendant_that_stays_is_named_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.tree.GONE_WITHIN", 0)
    process = child(tmp_path, "leaks")
    process.start()
    (leak,) = psutil.Process(process.pid).children(recursive=True)
    with pytest.raises(NotSeen, match=f"descendants of child#1.*{leak.pid}"):
        process.kill()
    until(lambda: gone(leak), what="the end of the leak")


def test_a_frozen_child_is_alive_and_goes_on_when_thawed(plain: Process) -> None:
    plain.freeze()
    assert plain.is_alive
    assert plain.state == "frozen"
    with pytest.raises(ProcessError, match="frozen and hears nothing"):
        plain.stop()
    plain.thaw()
    assert plain.state == "running"
    assert plain.stop() == -signal.SIGTERM


def test_a_second_start_has_a_name_and_a_log_of_its_own(plain: Process) -> None:
    first, first_log = plain.pid, plain.directory / "child#1.log"
    plain.restart()
    assert plain.label == "child#2"
    assert plain.pid != first
    assert first_log.read_text() == "hello from plain\n"


def test_a_child_that_says_much_is_never_held_up(tmp_path: Path) -> None:
    process = child(tmp_path, "says much")
    process.start()
    assert process.log(1) == "hello from says much"
    process.kill()


def test_a_cell_may_use_it_inside_the_loop_of_a_notebook(tmp_path: Path) -> None:
    async def cell() -> int:
        process = child(tmp_path, "says how")
        process.start()
        return process.stop()

    assert asyncio.run(cell()) == 7


def test_a_live_process_cannot_be_started_twice(plain: Process) -> None:
    with pytest.raises(ProcessError, match="child#1 is alive"):
        plain.start()


def test_a_zombie_is_dead(plain: Process) -> None:
    os.kill(plain.pid, signal.SIGKILL)
    zombie = psutil.Process(plain.pid)
    until(lambda: zombie.status() == psutil.STATUS_ZOMBIE, what="the zombie")
    assert not plain.is_alive
    assert plain.state == "ended"


def test_a_handle_that_nobody_holds_takes_its_child_along(tmp_path: Path) -> None:
    process = child(tmp_path)
    process.start()
    pid, born = process.pid, birth(process.pid)
    assert born is not None
    del process
    gc.collect()
    assert birth(pid) != born


def test_another_child_does_not_keep_the_pipe_open(tmp_path: Path) -> None:
    first, second = child(tmp_path, name="first"), child(tmp_path, name="second")
    first.start()
    second.start()
    pipe = first._started().stdin
    assert pipe is not None
    pipe.close()
    assert first.wait() == 0
    assert second.is_alive
    second.kill()


@pytest.mark.parametrize("mode", ["running", "frozen"])
def test_a_child_ends_when_its_owner_is_killed(tmp_path: Path, mode: str) -> None:
    owner, orphan = kernel(tmp_path, mode)
    assert (orphan.status() == psutil.STATUS_STOPPED) == (mode == "frozen")
    owner.kill()
    owner.communicate()
    until(lambda: gone(orphan), what="the end of the orphan")


def test_the_signal_of_a_stop_button_does_not_reach_the_child(tmp_path: Path) -> None:
    owner, _ = kernel(tmp_path, "running")
    os.killpg(owner.pid, signal.SIGINT)
    log, _ = owner.communicate()
    assert log.splitlines() == ["hello from says how", "told SIGTERM"]
