"""What the runtime makes of a model server that breaks off, hangs, refuses or lies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_children import model_server
from langchain_core.messages import AIMessage, HumanMessage

from lab.model.handle import Model as Server
from lab.model.script import (
    Turn,
    call,
    call_with,
    cut,
    empty,
    error_line,
    fail,
    hang_after,
    length,
    line,
    say,
    think,
)
from sophos.agent.model import Model, ModelOptions
from sophos.errors import ModelFailed, ModelUnavailable, ModelUnreachable, RunFailure
from sophos.tool import Tool

TOOL = Tool(name="t__note", description="", schema={"type": "object", "properties": {}})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with model_server(tmp_path_factory.mktemp("model")) as server:
        yield server


def model(url: str, *, token_timeout: float = 30.0, done_check: bool = True) -> Model:
    return Model(
        ModelOptions(
            host=url,
            name="qwen3",
            think=True,
            num_ctx=8192,
            first_token_timeout=30.0,
            token_timeout=token_timeout,
            done_check=done_check,
        )
    )


async def ask(asked: Model, pieces: list[tuple[str, str]] | None = None) -> AIMessage:
    def heard(text: str, kind: str) -> None:
        if pieces is not None:
            pieces.append((text, kind))

    question = [HumanMessage("Say something.")]
    try:
        return await asked.reply(question, [TOOL], message_id="m", run="r", on_piece=heard)
    finally:
        await asked._chat._async_client._client.aclose()


def test_a_whole_reply_has_its_reasoning_apart(server: Server) -> None:
    server.script([[think("Hm."), say("So it is."), call("t__note", a='{"b": 1}')]])
    pieces: list[tuple[str, str]] = []
    reply = asyncio.run(ask(model(server.url), pieces))
    assert reply.content == "So it is."
    assert reply.additional_kwargs["reasoning_content"] == "Hm."
    assert reply.tool_calls[0]["args"] == {"a": '{"b": 1}'}
    kinds = ["reasoning", "answer", "answer", "answer"]
    assert pieces == list(zip(["Hm.", "So", " it", " is."], kinds, strict=True))


@pytest.mark.parametrize(
    ("turn", "failure"),
    [
        pytest.param([say("one two three"), cut(after=2)], ModelFailed, id="ends without done"),
        pytest.param([say("one two"), cut(after=1, reset=True)], ModelFailed, id="breaks off"),
        pytest.param(cut(after=0, reset=True), ModelUnreachable, id="breaks before it begins"),
        pytest.param(error_line("out of memory", after=1), ModelFailed, id="error line"),
        pytest.param([say("one two"), length(after=1)], ModelFailed, id="cut by its length"),
        pytest.param(empty(), ModelFailed, id="empty"),
        pytest.param(think("Only that."), ModelFailed, id="only reasoning"),
        pytest.param(line("<html>"), ModelFailed, id="no JSON"),
        pytest.param(line('{"odd": 1}'), ModelFailed, id="no reply"),
        pytest.param(call_with("t__note", "text"), ModelFailed, id="arguments are text"),
        pytest.param(call_with("t__note", None), ModelFailed, id="arguments are missing"),
        pytest.param(fail(503, "overloaded"), ModelFailed, id="overloaded"),
        pytest.param(fail(404, "model 'qwen3' not found"), ModelUnavailable, id="not pulled"),
        pytest.param(
            fail(400, '"qwen3" does not support tools'), ModelUnavailable, id="no tool support"
        ),
    ],
)
def test_what_is_no_whole_reply_is_a_failure(
    server: Server, turn: Turn, failure: type[RunFailure]
) -> None:
    server.script([turn])
    with pytest.raises(RunFailure) as raised:
        asyncio.run(ask(model(server.url)))
    assert raised.type is failure


def test_without_the_done_check_half_an_answer_passes_for_a_whole_one(server: Server) -> None:
    server.script([[say("one two three"), cut(after=2)]])
    assert asyncio.run(ask(model(server.url, done_check=False))).content == "one two"


def test_a_model_that_falls_silent_is_given_up_and_sees_it(server: Server) -> None:
    server.forget_requests()
    server.script([[say("one two three"), hang_after(2)]])
    with pytest.raises(ModelUnreachable):
        asyncio.run(ask(model(server.url, token_timeout=0.1)))
    (request,) = server.requests()
    assert server.wait_ended(request["number"])["ended"] == "client gone"


def test_a_stopped_run_stops_its_model(server: Server) -> None:
    async def stop_while_held() -> dict[str, Any]:
        asking = asyncio.create_task(ask(model(server.url)))
        await asyncio.to_thread(server.wait_held)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        return await asyncio.to_thread(server.wait_ended, server.requests()[0]["number"])

    server.forget_requests()
    server.hold(after_tokens=2)
    try:
        ended = asyncio.run(stop_while_held())
    finally:
        server.release()
    assert (ended["ended"], ended["tokens"]) == ("client gone", 2)


def test_a_server_that_is_not_there_is_unreachable_and_a_probe_says_so(tmp_path: Path) -> None:
    with model_server(tmp_path) as server:
        here = model(server.url)
        assert asyncio.run(here.probe()) is None
    with pytest.raises(ModelUnreachable, match="does not answer"):
        asyncio.run(ask(model(server.url)))
    assert "No model server answers" in (asyncio.run(here.probe()) or "")
