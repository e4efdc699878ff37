"""Standard input as the line to an owner: it ends when the owner does, in whatever way.

Nothing is read from it but its end. Who has an owner stops when the owner is gone, and is never
frozen without one: a frozen process cannot see the end, and nobody would be left to thaw it.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

_STDIN: Final = 0


def watch(ended: Callable[[], None]) -> None:
    """Call `ended` once, from another thread, when standard input ends."""

    def wait() -> None:
        # The descriptor itself: a thread that sleeps in sys.stdin breaks the interpreter's exit.
        with suppress(OSError):
            while _read_on():
                pass
        ended()

    # A daemon: it sleeps in the kernel and keeps nothing alive.
    threading.Thread(target=wait, name="owner-pipe", daemon=True).start()


def _read_on() -> bool:
    """Wait for what comes, and throw it away; False at the end."""
    try:
        return bool(os.read(_STDIN, 4096))
    except BlockingIOError:
        # It was handed over without blocking, and is not ours alone to change: nothing is no end.
        select.select([_STDIN], [], [])
        return True


def freeze() -> None:
    """SIGSTOP this process, until it is thawed or its owner is gone. Does nothing if it is gone."""
    with _killed_at_the_end():
        if not _has_ended():
            os.kill(os.getpid(), signal.SIGSTOP)


@contextmanager
def _killed_at_the_end() -> Iterator[None]:
    """Have the operating system kill this process if the pipe ends meanwhile. Linux alone can.

    It tells an end and something to read by the same signal: an owner must not write to the frozen.
    """
    mode = os.fstat(_STDIN).st_mode
    # Some programs start theirs with a pair of sockets in the place of a pipe.
    if sys.platform != "linux" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        yield
        return
    import fcntl  # noqa: PLC0415 - it does not exist on Windows

    # Asked for before the look at the pipe: an end before the look is seen, one after it kills.
    fcntl.fcntl(_STDIN, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(_STDIN, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(_STDIN, fcntl.F_GETFL)
    fcntl.fcntl(_STDIN, fcntl.F_SETFL, flags | os.O_ASYNC)
    try:
        yield
    finally:
        fcntl.fcntl(_STDIN, fcntl.F_SETFL, flags)


def _has_ended() -> bool:
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(_STDIN, 0)  # the end is told unasked
    return bool(poll.poll(0))
