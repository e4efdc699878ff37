import asyncio
from collections.abc import Awaitable

from sophos.events import End, Gap, Sent, Token
from sophos.run import RunStatus
from sophos.runtime import event_log
from sophos.runtime.event_log import EventLog


def token(text: str) -> Token:
    return Token(text=text, kind="answer", step=1, message_id="m")


END = End(conversation="c", run="r", status=RunStatus.COMPLETED)


async def read(log: EventLog, after: int) -> list[Sent]:
    return [sent async for sent in log.follow(after)]


def run(work: Awaitable[None]) -> None:
    async def main() -> None:
        await work

    asyncio.run(main())


def test_numbers_have_no_holes_and_replay_goes_on_live() -> None:
    async def scenario() -> None:
        log = EventLog("r")
        log.publish(token("a"))
        viewer = asyncio.create_task(read(log, 0))
        await asyncio.sleep(0)
        log.publish(token("b"))
        log.publish(END)
        assert [sent.id for sent in await viewer] == ["r:1", "r:2", "r:3"]

    run(scenario())


def test_a_viewer_that_comes_back_gets_exactly_what_it_missed() -> None:
    async def scenario() -> None:
        log = EventLog("r")
        for text in "abc":
            log.publish(token(text))
        log.publish(END)
        assert [sent.id for sent in await read(log, 2)] == ["r:3", "r:4"]
        assert await read(log, 4) == []

    run(scenario())


def test_a_viewer_that_falls_too_far_behind_gets_a_gap_and_no_more() -> None:
    async def scenario() -> None:
        log = EventLog("r")
        log.publish(token("first"))
        stream = log.follow(0)
        assert (await anext(stream)).id == "r:1"
        for _ in range(event_log.BACKLOG + 2):
            log.publish(token("x"))
        assert [sent.event async for sent in stream] == [Gap()]

    run(scenario())


def test_a_long_replay_is_no_gap() -> None:
    async def scenario() -> None:
        log = EventLog("r")
        for _ in range(event_log.BACKLOG + 10):
            log.publish(token("x"))
        log.publish(END)
        assert (await read(log, 0))[-1].event == END

    run(scenario())


def test_what_was_replayed_gives_nobody_leave_to_fall_further_behind() -> None:
    async def scenario() -> None:
        log = EventLog("r")
        for text in "abc":
            log.publish(token(text))
        stream = log.follow(0)
        assert [(await anext(stream)).id for _ in range(3)] == ["r:1", "r:2", "r:3"]
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)  # it has had all there was, and waits
        for _ in range(event_log.BACKLOG + 1):
            log.publish(token("x"))
        assert (await waiting).event == Gap()

    run(scenario())
