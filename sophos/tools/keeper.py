"""Start a command that cannot outlive its owner: `python -I -S keeper.py OWNER_PID COMMAND ARG…`.

The process splits in two. One half becomes the command itself, so that whoever started it sees
the command's own pid, pipes and exit code. The other half, the guard, waits for the first of two
deaths, the owner's or the command's, and then ends whatever is left of the command's process group:
a launcher's grandchildren, and children that ignore their closed input.

The owner must be the parent, and must start this as the leader of a process group, which is how
the MCP library starts its servers. A process that leaves the group on purpose is not followed.

Nothing here is durable. Only the standard library is imported, and little of it: this runs before
every tool server, and a lesson waits for it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

POLL = 0.02  # seconds between two looks, where the system tells of no death by itself
# An orphan's input is closed, and most servers end on that without losing what they are writing.
PATIENCE = ((0, 0.3), (signal.SIGTERM, 0.7), (signal.SIGKILL, 0))  # signal, seconds to wait after
NOT_FOUND = 127


def main(arguments: list[str]) -> int:
    """Become the command; returns only if that is impossible."""
    owner = int(arguments[0])
    command = arguments[1:]
    watches = [_watch(owner), _watch(os.getpid())]
    if os.getppid() != owner:
        return 0  # It died meanwhile: a command started now would be an orphan.
    group = os.getpid()
    if os.fork() == 0:
        _guard(owner, group, watches)
        os._exit(0)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command is mcp.json's, and no shell reads it
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run: {error.strerror}\n")
    return NOT_FOUND


def _watch(pid: int) -> int | None:
    """A descriptor that becomes readable when `pid` dies; None where there is no such thing."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None  # an old kernel, or a sandbox that forbids it


def _guard(owner: int, group: int, watches: list[int | None]) -> None:
    # It must hold no pipe of the command, or nobody would see them close; and it must be out of
    # the group, or it would end itself first.
    os.setsid()
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    descriptors = [watch for watch in watches if watch is not None]
    if len(descriptors) == len(watches):
        select.select(descriptors, [], [])
    elif sys.platform == "darwin":
        _wait_by_kqueue((owner, group))
    else:
        _wait_by_polling(owner, group)
    _end(group)


if sys.platform == "darwin":

    def _wait_by_kqueue(pids: tuple[int, ...]) -> None:
        queue = select.kqueue()
        try:
            for pid in pids:
                event = select.kevent(
                    pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT
                )
                queue.control([event], 0)
        except OSError:
            return  # One of them is dead already.
        queue.control(None, 1)


def _wait_by_polling(owner: int, group: int) -> None:
    while os.getppid() == group:
        try:
            os.kill(owner, 0)
        except OSError:
            return
        time.sleep(POLL)


def _end(group: int) -> None:
    # The group keeps its number for as long as it has a member. Once it is empty the number is
    # free, but the system gives numbers out in a circle: none comes back within milliseconds.
    for number, patience in PATIENCE:
        deadline = time.monotonic() + patience
        try:
            os.killpg(group, number)
        except OSError:
            return  # Nobody is left.
        while time.monotonic() < deadline:
            time.sleep(POLL)
            if not _is_alive(group):
                return


def _is_alive(group: int) -> bool:
    """Whether the group has a member that is more than an entry nobody has collected yet."""
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return True  # A system that does not tell: an entry counts as a member.
    members = [stat for stat in map(_stat, pids) if len(stat) > 2 and int(stat[2]) == group]
    return any(state not in "ZX" for state, *_ in members)


def _stat(pid: str) -> list[str]:
    try:
        # The name before the last bracket may hold anything.
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
