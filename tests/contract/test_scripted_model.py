"""The scripted model, as the runtime's real client sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from lab_children import FETCH, chat_with, model_server, streamed
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_ollama import ChatOllama
from ollama import AsyncClient, ResponseError
from pydantic import ValidationError

from lab.model.handle import Model
from lab.model.script import (
    Turn,
    call,
    call_with,
    cut,
    empty,
    error_line,
    fail,
    hang,
    hang_after,
    length,
    line,
    say,
    think,
)

ESSAY = "Write an essay of 60 words about rain."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    with model_server(tmp_path_factory.mktemp("model")) as model:
        yield model


@pytest.fixture
def model(server: Model) -> Model:
    """The module's one server, with nothing left of the test before."""
    server.script([])
    server.release()
    server.forget_requests()
    return server


def ask(server: Model, text: Any, /, **options: Any) -> Any:
    return asyncio.run(streamed(server, text, **options))


def test_thinking_streams_apart_from_the_answer(model: Model) -> None:
    model.script([[think("First I look."), say("Then I speak.")]])
    reply = ask(model, "anything")
    assert reply.content == "Then I speak."
    assert reply.additional_kwargs["reasoning_content"] == "First I look."


def test_a_reply_comes_in_words_and_ends_with_done_and_its_counts(model: Model) -> None:
    async def chunks() -> list[Any]:
        async with chat_with(model) as chat:
            return [chunk async for chunk in chat.astream("anything")]

    model.script([say("one two three")])
    got = asyncio.run(chunks())
    assert [chunk.content for chunk in got if chunk.content] == ["one", " two", " three"]
    last = next(chunk for chunk in got if chunk.response_metadata.get("done"))
    assert last.response_metadata["done_reason"] == "stop"
    assert last.usage_metadata["output_tokens"] == 3
    assert last.usage_metadata["input_tokens"] > 0


def test_a_model_told_not_to_think_does_not(model: Model) -> None:
    model.script([[think("Never sent."), say("Only this.")]])
    reply = ask(model, "anything", reasoning=False)
    assert reply.content == "Only this."
    assert model.requests()[0]["tokens"] == 2


def test_calls_of_one_turn_come_in_order_with_their_arguments(model: Model) -> None:
    model.script([[call("first", a=1), call("second", b={"deep": [None, "x"]})]])
    calls = ask(model, "anything", tools=True).tool_calls
    assert [(made["name"], made["args"]) for made in calls] == [
        ("first", {"a": 1}),
        ("second", {"b": {"deep": [None, "x"]}}),
    ]


def test_an_offered_tool_is_called_and_its_result_is_answered(model: Model) -> None:
    asked = HumanMessage("Fetch http://a.example/ and summarise it in one sentence.")
    called = ask(model, [asked], tools=True).tool_calls[0]
    assert (called["name"], called["args"]) == ("fetch__fetch", {"url": "http://a.example/"})
    page = ToolMessage(
        "Contents of http://a.example/:\nIt rains. It pours.", tool_call_id=called["id"]
    )
    answer = ask(model, [asked, AIMessage("", tool_calls=[called]), page], tools=True)
    assert "It rains." in answer.content
    assert "It pours." not in answer.content


def test_a_cut_reply_ends_in_good_order_without_done(model: Model) -> None:
    model.script([[say("one two three"), cut(after=2)]])
    reply = ask(model, "anything")
    assert reply.content == "one two"
    assert "done" not in reply.response_metadata
    assert model.requests()[0]["ended"] == "cut"


def test_a_turn_that_only_ends_early_cuts_what_would_have_been_said(model: Model) -> None:
    model.script([cut(after=5)])
    assert len(ask(model, ESSAY, reasoning=False).content.split()) == 5
    assert len(ask(model, ESSAY, reasoning=False).content.split()) == 60


def test_a_reset_breaks_the_connection(model: Model) -> None:
    model.script([[say("one two three"), cut(after=2, reset=True)]])
    with pytest.raises(httpx.RemoteProtocolError):
        ask(model, "anything")


@pytest.mark.parametrize(
    ("turn", "status", "words"),
    [
        (fail(503, "overloaded"), 503, "overloaded"),
        (error_line("out of memory", after=1), -1, "out of memory"),
        (fail(400, '"qwen3" does not support tools'), 400, "does not support tools"),
    ],
)
def test_an_error_is_the_client_librarys_own(
    model: Model, turn: Turn, status: int, words: str
) -> None:
    model.script([turn])
    with pytest.raises(ResponseError, match=words) as raised:
        ask(model, "Say hello there.")
    assert raised.value.status_code == status
    assert model.requests()[0]["ended"] == "failed"


def test_a_name_it_does_not_have_is_not_found(model: Model) -> None:
    with pytest.raises(ResponseError, match="model 'other' not found") as raised:
        ask(model, "anything", model="other")
    assert raised.value.status_code == 404


def test_a_reply_stopped_by_its_length_says_so(model: Model) -> None:
    model.script([[say("one two three"), length(after=1)]])
    assert ask(model, "anything").response_metadata["done_reason"] == "length"
    limited = ask(model, ESSAY, num_predict=7, reasoning=False)
    assert limited.response_metadata["done_reason"] == "length"
    assert len(limited.content.split()) == 7


def test_an_empty_reply_is_done_and_empty(model: Model) -> None:
    model.script([empty()])
    reply = ask(model, "anything")
    assert (reply.content, reply.tool_calls, reply.additional_kwargs) == ("", [], {})
    assert reply.response_metadata["done"]


def test_arguments_that_are_no_object_reach_the_client_as_they_are(model: Model) -> None:
    model.script([call_with("fetch__fetch", '{"url": "http://a.example/"}')])
    with pytest.raises(ValidationError, match="valid dictionary"):
        ask(model, "anything", tools=True)


def test_a_line_that_is_no_json_reaches_the_client_as_it_is(model: Model) -> None:
    model.script([line("<html>Bad gateway</html>")])
    with pytest.raises(ValueError, match="Expecting value"):
        ask(model, "anything")


def test_a_cancelled_request_stops_the_model_at_that_token(model: Model) -> None:
    async def cancel_while_held(chat: ChatOllama) -> dict[str, Any]:
        asking = asyncio.create_task(chat.ainvoke(ESSAY))
        await asyncio.to_thread(model.wait_held)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        (request,) = model.requests()
        return await asyncio.to_thread(model.wait_ended, request["number"])

    async def scenario() -> dict[str, Any]:
        async with chat_with(model) as chat:
            return await cancel_while_held(chat)

    model.hold(after_tokens=3)
    ended = asyncio.run(scenario())
    assert (ended["ended"], ended["tokens"]) == ("client gone", 3)


@pytest.mark.parametrize(("turn", "tokens"), [(hang(), 0), (hang_after(2), 2)])
def test_a_hanging_model_sees_its_client_give_up(model: Model, turn: Turn, tokens: int) -> None:
    async def give_up_in_the_silence() -> None:
        async with chat_with(model) as chat:
            stream = aiter(chat.astream("Say: one two three."))
            for _ in range(tokens):
                await anext(stream)
            waiting = asyncio.create_task(_next(stream))
            await asyncio.to_thread(model.wait_requests)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    model.script([turn])
    asyncio.run(give_up_in_the_silence())
    ended = model.wait_ended(model.requests()[0]["number"])
    assert (ended["ended"], ended["tokens"]) == ("client gone", tokens)


async def _next(stream: AsyncIterator[Any]) -> Any:
    return await anext(stream)


def test_the_same_request_gives_a_new_sample_with_the_same_calls(model: Model) -> None:
    asked = "Fetch http://same.example/ and summarise it."
    replies = [ask(model, asked, tools=True) for _ in range(3)]
    assert len({reply.additional_kwargs["reasoning_content"] for reply in replies}) == 3
    assert len({str([call["args"] for call in reply.tool_calls]) for reply in replies}) == 1
    assert [request["sample"] for request in model.requests()] == [0, 1, 2]


def test_it_keeps_exactly_what_it_was_sent(model: Model) -> None:
    ask(model, [HumanMessage("Hello")], tools=True, num_ctx=2048)
    (request,) = model.requests()
    assert request["body"]["messages"] == [{"role": "user", "content": "Hello"}]
    assert request["body"]["tools"] == [FETCH]
    assert request["body"]["options"]["num_ctx"] == 2048
    assert request["ended"] == "done"


def test_what_does_not_fit_into_the_context_is_cut_silently(model: Model) -> None:
    said = [HumanMessage("My name is Ada."), AIMessage("Hello."), HumanMessage("x " * 1200)]
    asked = [*said, AIMessage("Yes."), HumanMessage("What is my name?")]
    assert "Ada" in ask(model, asked, num_ctx=4096).content
    assert "Ada" not in ask(model, asked, num_ctx=512).content
    assert [request["dropped"] for request in model.requests()] == [0, 3]


def test_it_lists_and_describes_itself_as_scripted(model: Model) -> None:
    async def scenario() -> None:
        client = AsyncClient(host=model.url)
        listed, shown, running = await client.list(), await client.show("qwen3"), await client.ps()
        assert [entry.model for entry in listed.models] == ["qwen3:latest"]
        assert shown.capabilities == ["completion", "tools", "thinking"]
        assert shown.details is not None
        assert shown.details.family == "scripted"
        assert [entry.context_length for entry in running.models] == [8192]
        await client._client.aclose()

    ask(model, "Hello")
    asyncio.run(scenario())
