"""What a class of thirty waits for, and what it takes: everybody sends at the same moment.

The model has no delay, so the first token is what the server itself takes under that load. Memory is
that of Sophos and of its tool servers, with thirty runs in mid-reply.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from statistics import median

import psutil
from learners import Learner, all_of, browser, is_token, never
from measuring import Figure, main

from lab.bench import Bench

LEARNERS = 30
TOKEN = "correct-horse-battery"
MEGABYTE = 1_000_000  # bytes


def measure(samples: int) -> Sequence[Figure]:
    middle: list[float] = []
    most: list[float] = []
    memory: list[float] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Bench("class", model="scripted", root=Path(folder), tools=("tasks",), token=TOKEN) as bench,
    ):
        bench.up()
        for sample in range(samples + 1):
            learners = asyncio.run(lesson(bench, sample, memory))
            firsts = [learner.first_token for learner in learners]
            middle.append(median(firsts))
            most.append(max(firsts))
        bench.model.close()
    # The first lesson starts the tool server: it warms up and is not counted.
    return [
        Figure(what=f"first token, median of {LEARNERS}", unit="s", samples=middle[1:]),
        Figure(what=f"first token, slowest of {LEARNERS}", unit="s", samples=most[1:]),
        Figure(what=f"memory with {LEARNERS} runs", unit="MB", samples=memory[1:]),
    ]


async def lesson(bench: Bench, sample: int, memory: list[float]) -> list[Learner]:
    """Everybody sends at once, watches, loses the connection, comes back and sees the end."""
    async with AsyncExitStack() as stack:
        learners = []
        for number in range(sample * LEARNERS, (sample + 1) * LEARNERS):
            http = await stack.enter_async_context(browser(bench.sophos.url))
            learners.append(Learner(number=number, http=http))
        await all_of(learners, lambda learner: learner.sign_in(TOKEN))
        bench.model.hold(2)
        await all_of(learners, send_and_see)
        memory.append(resident(bench.sophos.pid) / MEGABYTE)
        bench.model.release()
        await all_of(learners, partial(Learner.watch, enough=never))
    return learners


async def send_and_see(learner: Learner) -> None:
    await learner.send()
    await learner.watch(is_token)


def resident(pid: int) -> int:
    """Bytes of a process and of those below it."""
    server = psutil.Process(pid)
    return sum(process.memory_info().rss for process in (server, *server.children(recursive=True)))


if __name__ == "__main__":
    main(measure, __doc__ or "")
