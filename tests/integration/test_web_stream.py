"""Watching over a real connection: framing, replay, the end, and viewers that leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from served import UNKNOWN, Event, run, say, served, trace

from sophos.errors import ModelFailed
from sophos.events import Gap, Sent, TraceEvent
from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD
from sophos.web.sse import PING, EventStream, frame

HARD = "line\nbreak\r\n\rdata: x\n\n  \u2028 é 😀 \x00"


def test_a_run_is_told_from_its_first_event_to_its_end() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([say(HARD), HOLD, say("b")])) as site:
            started = await site.start()
            following = site.follow(**pick(started))
            assert await anext(following) == Event(
                name="token",
                data={"text": HARD, "kind": "answer", "step": 1, "message_id": "m1"},
                id=f"{started['run']}:1",
            )
            site.runtime.proceed(started["conversation"])
            rest = [event async for event in following]
            assert [event.id for event in rest] == [f"{started['run']}:2", f"{started['run']}:3"]
            assert rest[-1].name == "end"
            assert rest[-1].data == {**started, "status": "completed"}

    run(scenario())


def test_the_headers_come_at_once_and_forbid_holding_back() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([HOLD])) as site:
            query = pick(await site.start())
            asked = {"Accept-Encoding": "gzip, br"}
            async with site.http.stream("GET", "/api/chat", params=query, headers=asked) as answer:
                assert answer.headers["content-type"].startswith("text/event-stream")
                assert answer.headers["cache-control"] == "no-store"
                assert answer.headers["x-accel-buffering"] == "no"
                assert "content-encoding" not in answer.headers

    run(scenario())


def test_a_failed_run_ends_with_its_code_live_and_afterwards() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([HOLD, ModelFailed("It said: no.")])) as site:
            started = await site.start()
            following = asyncio.create_task(site.events(**pick(started)))
            await site.runtime.watched_by(1)
            site.runtime.proceed(started["conversation"])
            [live] = await following
            [late] = await site.events(**pick(started), run=started["run"])
            told = {"code": "MODEL_FAILED", "message": "It said: no.", **started}
            assert (live.name, live.data, live.id) == ("chat-error", told, f"{started['run']}:1")
            assert (late.name, late.data, late.id) == ("chat-error", told, None)

    run(scenario())


def test_whoever_comes_back_gets_exactly_what_was_missed() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([say("a"), say("b"), say("c"), HOLD])) as site:
            started = await site.start()
            for query, last in (({}, f"{started['run']}:2"), ({"last_event_id": "x:1"}, None)):
                following = site.follow(**pick(started), **query, last=last)
                first = await anext(following)
                assert first.data["text"] == ("c" if last else "a")
                await aclose(following)
            by_query = site.follow(**pick(started), last_event_id=f"{started['run']}:1")
            assert (await anext(by_query)).data["text"] == "b"
            await aclose(by_query)

    run(scenario())


NOT_AN_ID = ["", "x", ":", ":1", "1", "{run}", "{run}:", "{run}:-1", "{run}:1.5", "{run}:١"]
NOT_AN_ID += ["{run}:1e3", "{run}:" + "9" * 6000, "{run}:99", "{run}:0", "%00", "{run}:1 {run}:2"]


def test_what_is_not_an_id_replays_from_the_first_event() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([say("a"), say("b"), HOLD])) as site:
            started = await site.start()
            for text in NOT_AN_ID:
                last = text.format(run=started["run"])
                following = site.follow(**pick(started), last_event_id=last)
                assert (await anext(following)).id == f"{started['run']}:1", text
                await aclose(following)

    run(scenario())


def test_an_older_runs_id_is_answered_with_a_gap_and_a_replay() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([say("old")], [say("new"), HOLD])) as site:
            first = await site.start()
            await site.start("again", **pick(first))
            following = site.follow(**pick(first), last=f"{first['run']}:1")
            gap = await anext(following)
            assert (gap.name, gap.data, gap.id) == ("gap", {"reload": True}, None)
            assert (await anext(following)).data["text"] == "new"
            await aclose(following)

    run(scenario())


def test_whoever_has_had_the_last_event_is_told_to_stop_coming_back() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([say("a")])) as site:
            started = await site.start()
            [end] = await site.events(**pick(started), last=f"{started['run']}:1")
            assert (end.name, end.id) == ("end", None)
            headers = {"Last-Event-ID": f"{started['run']}:2"}
            answer = await site.http.get("/api/chat", params=pick(started), headers=headers)
            assert (answer.status_code, answer.content) == (204, b"")

    run(scenario())


@pytest.mark.parametrize("query", [{}, {"conversation": "1"}, {"run": "1"}])
def test_a_stream_of_nothing_is_refused_in_json(query: dict[str, str]) -> None:
    async def scenario() -> None:
        async with served() as site:
            wanted = {"conversation": UNKNOWN, **query} if query else {}
            answer = await site.http.get("/api/chat", params=wanted)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")

    run(scenario())


def test_a_viewer_that_leaves_is_let_go_and_the_run_goes_on() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([say("a"), HOLD, say("b")])) as site:
            started = await site.start()
            following = site.follow(**pick(started))
            await anext(following)
            assert site.runtime.viewers == 1
            await aclose(following)
            await site.runtime.watched_by(0)
            site.runtime.proceed(started["conversation"])
            row = (await site.http.get(f"/api/runs/{started['run']}")).json()
            assert row["status"] == "completed"

    run(scenario())


def test_a_shutdown_ends_every_open_stream_with_its_outcome() -> None:
    async def scenario() -> None:
        async with served(ScriptedRuntime([say("a"), HOLD])) as site:
            started = await site.start()
            viewers = [asyncio.create_task(site.events(**pick(started))) for _ in range(5)]
            await site.runtime.watched_by(5)
            await site.stop()
            for events in await asyncio.gather(*viewers):
                assert events[-1].data == {**started, "status": "interrupted"}

    run(scenario())


def test_ten_thousand_events_are_replayed_whole_and_in_order() -> None:
    async def scenario() -> None:
        words = [say(f"w{n} ") for n in range(10_000)]
        async with served(ScriptedRuntime([*words, HOLD, say("x")])) as site:
            started = await site.start()
            following = site.follow(**pick(started))
            ids = [(await anext(following)).id for _ in words]
            assert ids == [f"{started['run']}:{n}" for n in range(1, 10_001)]
            await aclose(following)

    run(scenario())


def test_silence_is_filled_with_pings() -> None:
    async def scenario() -> None:
        closed = asyncio.Event()
        bodies: asyncio.Queue[bytes] = asyncio.Queue()

        async def silent() -> AsyncIterator[Sent]:
            try:
                yield Sent(event=Gap(), id=None)
                await asyncio.Event().wait()
            finally:
                closed.set()

        async def send(message: Any) -> None:
            bodies.put_nowait(message.get("body", b""))

        stream = EventStream(silent(), ping_seconds=0.01)
        streaming = asyncio.create_task(stream.stream_response(send))
        came = [await bodies.get() for _ in range(4)]
        assert came == [b"", frame(Sent(event=Gap(), id=None)), PING, PING]
        streaming.cancel()
        await closed.wait()

    run(scenario())


def test_a_number_json_has_no_word_for_becomes_null() -> None:
    args = {"x": float("nan"), "y": [float("inf")], "z": "\ud800"}
    sent = Sent(event=trace(TraceEvent.CALL, args=args), id=None)
    [_, data, *_] = frame(sent).decode("ascii").split("\n")
    assert json.loads(data.removeprefix("data: "))["data"]["args"] == {
        "x": None,
        "y": [None],
        "z": "\ud800",
    }


def pick(started: dict[str, Any]) -> dict[str, Any]:
    return {"conversation": started["conversation"]}


async def aclose(following: AsyncIterator[Event]) -> None:
    await following.aclose()  # type: ignore[attr-defined] # it is a generator
