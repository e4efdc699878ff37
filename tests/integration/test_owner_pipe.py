"""A process that has an owner is never left frozen without one."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from lab.facts import until

PASSES_A_POINT = """
import os, sys
from sophos import owner_pipe
from sophos.failpoints import Failpoints, Point, parse_failpoints
failpoints = Failpoints(parse_failpoints("agent.answered=stop"), freeze=owner_pipe.freeze)
if sys.argv[1] == "at the end":
    os.read(0, 1)
failpoints.hit(Point.AGENT_ANSWERED)
print("went on", flush=True)
os.read(0, 1)
"""
TELLS_THE_END = """
import threading
from sophos import owner_pipe
ended = threading.Event()
owner_pipe.watch(ended.set)
print("watches", flush=True)
ended.wait()
"""

TELLS_WHETHER_IT_IS_THE_END = """
import os, signal
from sophos import owner_pipe
def ended():
    try:
        print(os.read(0, 1), flush=True)
    finally:
        os._exit(0)
print("watches", flush=True)
owner_pipe.watch(ended)
signal.pause()
"""


@contextmanager
def started(program: str, *arguments: str, stdin: int = subprocess.PIPE) -> Iterator[Owned]:
    """In a session of its own: orphaned from birth, it is thawed by no rule of the system's."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield Owned(process)
        process.kill()


class Owned:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def end_of_owner(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def see_frozen(self) -> None:
        until(
            lambda: psutil.Process(self.process.pid).status() == psutil.STATUS_STOPPED,
            what="the frozen process",
        )


def test_a_point_that_is_reached_after_the_owners_end_freezes_nobody() -> None:
    with started(PASSES_A_POINT, "at the end") as owned:
        owned.end_of_owner()
        assert owned.said() == "went on\n"
        assert owned.process.wait() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the end of a pipe")
def test_a_frozen_process_is_killed_by_the_end_of_its_owner() -> None:
    with started(PASSES_A_POINT, "before") as owned:
        owned.see_frozen()
        owned.end_of_owner()
        assert owned.process.wait() == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the end of a pipe")
def test_a_frozen_process_is_killed_by_the_end_of_an_owner_at_a_socket() -> None:
    ours, theirs = socket.socketpair()
    with theirs, started(PASSES_A_POINT, "before", stdin=theirs.fileno()) as owned:
        theirs.close()
        owned.see_frozen()
        ours.close()
        assert owned.process.wait() == -signal.SIGKILL


def test_a_thawed_process_goes_on_and_sees_the_end_for_itself() -> None:
    with started(PASSES_A_POINT, "before") as owned:
        owned.see_frozen()
        os.kill(owned.process.pid, signal.SIGCONT)
        assert owned.said() == "went on\n"
        owned.end_of_owner()
        assert owned.process.wait() == 0


def test_who_has_no_pipe_is_frozen_and_thawed_all_the_same() -> None:
    with started(PASSES_A_POINT, "before", stdin=subprocess.DEVNULL) as owned:
        owned.see_frozen()
        os.kill(owned.process.pid, signal.SIGCONT)
        assert owned.process.wait() == 0


def test_the_end_is_told_and_nothing_that_is_written_before_it() -> None:
    with started(TELLS_THE_END) as owned:
        assert owned.said() == "watches\n"
        assert owned.process.stdin is not None
        owned.process.stdin.write("anything\n" * 1000)
        owned.process.stdin.flush()
        assert owned.process.poll() is None
        owned.end_of_owner()
        assert owned.process.wait() == 0


def test_a_pipe_that_does_not_block_is_watched_to_its_end_all_the_same() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with started(TELLS_WHETHER_IT_IS_THE_END, stdin=reading) as owned:
        os.close(reading)
        assert owned.said() == "watches\n"
        os.write(writing, b"anything")
        until(lambda: fcntl.ioctl(writing, termios.FIONREAD, bytes(4)) == bytes(4), what="the read")
        os.close(writing)
        assert owned.said() == "b''\n"
