"""A class of thirty on one server: nothing is lost, doubled or mixed up."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from functools import partial
from typing import Final

import httpx
import pytest
from learners import Learner, all_of, browser, is_token, never

from lab.bench import Bench

LEARNERS: Final = 30
TOKEN: Final = "correct-horse-battery"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("class")
    with Bench("class", "scripted", root=folder, tools=("tasks",), token=TOKEN) as bench:
        yield bench.up()
        bench.model.close()


@asynccontextmanager
async def class_of(bench: Bench, first: int) -> AsyncIterator[list[Learner]]:
    """Thirty learners who have signed in; the task of each is numbered from `first` on."""
    async with AsyncExitStack() as stack:
        numbers = range(first, first + LEARNERS)
        browsers = {number: browser(bench.sophos.url) for number in numbers}
        learners = [
            Learner(number=number, http=await stack.enter_async_context(http))
            for number, http in browsers.items()
        ]
        await all_of(learners, lambda learner: learner.sign_in(TOKEN))
        yield learners


async def stand_still_at_the_first_token(bench: Bench, learners: list[Learner]) -> None:
    """Everybody sends, sees the first token, and loses the connection."""
    bench.model.hold(1)
    await all_of(learners, Learner.send)
    await all_of(learners, partial(Learner.watch, enough=is_token))


async def check(learner: Learner) -> None:
    """What was seen has neither a hole nor a double; what is kept is this learner's, and whole."""
    run = learner.started["run"]
    assert learner.last == "end"
    assert learner.ids == [f"{run}:{number}" for number in range(1, len(learner.ids) + 1)]
    record = await learner.reload()
    roles = [message["role"] for message in record["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant"]
    for message in (record["messages"][0], record["messages"][-1]):
        assert f'"{learner.task}"' in message["content"]
    assert (record["active_run"], record["resumable"]) == (None, False)


def tasks_of(bench: Bench, learners: list[Learner]) -> Counter[str]:
    """How often each of their tasks was created, by the tracker's own ledger."""
    theirs = {learner.task for learner in learners}
    with closing(sqlite3.connect(bench.workspace.tasks)) as ledger:
        rows = ledger.execute("SELECT title FROM effects").fetchall()
    return Counter(title for (title,) in rows if title in theirs)


def test_thirty_learners_who_lose_their_connection_lose_nothing_else(bench: Bench) -> None:
    async def scenario() -> None:
        async with class_of(bench, 0) as learners:
            await stand_still_at_the_first_token(bench, learners)
            for record in await asyncio.gather(*map(Learner.reload, learners)):
                assert record["active_run"] is not None
            bench.model.release()
            await all_of(learners, partial(Learner.watch, enough=never))
            await all_of(learners, check)
            assert tasks_of(bench, learners) == {learner.task: 1 for learner in learners}

    asyncio.run(scenario())


def test_thirty_learners_whose_server_is_killed_stay_signed_in_and_go_on(bench: Bench) -> None:
    async def scenario() -> None:
        async with class_of(bench, LEARNERS) as learners:
            await stand_still_at_the_first_token(bench, learners)
            bench.sophos.kill()
            bench.model.release()
            bench.sophos.start()
            for learner in learners:
                learner.http.base_url = httpx.URL(bench.sophos.url)
            for record in await asyncio.gather(*map(Learner.reload, learners)):
                assert record["resumable"]
            await all_of(learners, Learner.resume)
            await all_of(learners, partial(Learner.watch, enough=never))
            await all_of(learners, check)
            assert tasks_of(bench, learners) == {learner.task: 1 for learner in learners}

    asyncio.run(scenario())
