"""A process for the storage tests to kill: `python storage_child.py claim|hold|full FOLDER`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from storage_rows import make_run, open_store

from sophos.errors import StartupError

CLAIMERS = 4


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def claim(folder: Path) -> None:
    """Claim and finish without end, naming each run once that is on record."""

    async def claimer() -> None:
        while True:
            run = await store.start(make_run())
            say(f"running {run.id}")
            await store.end(run, message_count=2)
            say(f"completed {run.id}")

    async with open_store(folder) as store, asyncio.TaskGroup() as claimers:
        for _ in range(CLAIMERS):
            claimers.create_task(claimer())


async def hold(folder: Path) -> None:
    """Own the file, start a child that may inherit every open file, and wait for the end."""
    async with open_store(folder, owner="boot-of-the-child"):
        child = subprocess.Popen(  # noqa: ASYNC220 - the child must be a plain one
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdout=subprocess.DEVNULL,
            close_fds=False,
        )
        say(str(child.pid))
        await asyncio.to_thread(child.wait)


async def full(folder: Path) -> None:
    """Open where no file may grow past one page, as on a full disk."""
    import resource  # noqa: PLC0415 - not on Windows

    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        async with open_store(folder):
            say("opened")
    except StartupError as error:
        say(error.message)


if __name__ == "__main__":
    what = {"claim": claim, "hold": hold, "full": full}[sys.argv[1]]
    asyncio.run(what(Path(sys.argv[2])))
