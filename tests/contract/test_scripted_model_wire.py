"""The scripted model below its client: the gate, the pace, the ledger and odd requests."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from lab_children import model_server, running

from lab.model.handle import Model
from lab.model.script import call, say

COUNT = "Count to 30."


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


def body(text: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {"model": "qwen3", "messages": messages, "think": False} | more


def post(model: Model, value: Any, path: str = "/api/chat") -> httpx.Response:
    return httpx.post(model.url + path, json=value, trust_env=False)


def words(lines: list[str]) -> str:
    return "".join(json.loads(line)["message"]["content"] for line in lines)


def test_a_held_reply_stands_at_exactly_that_token_until_released(model: Model) -> None:
    model.hold(after_tokens=4)
    with httpx.stream("POST", f"{model.url}/api/chat", json=body(COUNT)) as answer:
        lines = answer.iter_lines()
        held = [next(lines) for _ in range(4)]
        model.wait_held()
        assert model.requests()[0]["tokens"] == 4
        model.release()
        rest = list(lines)
    assert words(held) == "1 2 3 4"
    assert words(held + rest) == " ".join(str(number) for number in range(1, 31))


def test_a_second_hold_moves_a_held_reply_on_to_its_token(model: Model) -> None:
    model.hold(after_tokens=0)
    asking = Thread(target=post, args=(model, body(COUNT)))
    asking.start()
    model.wait_held()
    assert model.requests()[0]["tokens"] == 0
    model.hold(after_tokens=7)
    model.wait_held()
    assert model.requests()[0]["tokens"] == 7
    model.release()
    asking.join()
    assert model.wait_ended(model.requests()[0]["number"])["tokens"] == 30


def test_every_reply_that_comes_to_the_token_is_held(model: Model) -> None:
    model.hold(after_tokens=2)
    asking = [Thread(target=post, args=(model, body(f"Count to {n}."))) for n in (5, 6)]
    for thread in asking:
        thread.start()
    model.wait_held(replies=2)
    assert [request["tokens"] for request in model.requests()] == [2, 2]
    model.release()
    for thread in asking:
        thread.join()


def test_a_reply_in_one_piece_is_the_same_reply(model: Model) -> None:
    model.script([[say("One two."), call("a", b=1)]])
    answer = post(model, body("anything", stream=False)).json()
    assert answer["message"]["content"] == "One two."
    assert answer["message"]["tool_calls"][0]["function"]["arguments"] == {"b": 1}
    assert (answer["done"], answer["done_reason"], answer["eval_count"]) == (True, "stop", 3)


def test_a_request_without_messages_loads_the_model(model: Model) -> None:
    answer = post(model, {"model": "qwen3"}).json()
    assert (answer["done"], answer["done_reason"]) == (True, "load")


def test_the_name_may_carry_its_tag(model: Model) -> None:
    assert post(model, body("Hello", model="qwen3:latest")).status_code == 200


@pytest.mark.parametrize(
    "value",
    [
        *([], "text", {"messages": []}, {"model": ""}, {"model": "qwen3", "messages": "Hello"}),
        *({"model": "qwen3", "tools": [1]}, {"model": "qwen3", "options": [1]}),
    ],
)
def test_a_body_that_is_no_chat_is_refused_and_not_counted(model: Model, value: Any) -> None:
    answer = post(model, value)
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert model.requests() == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(("pace", {"tokens_per_second": -1}), ("pace", {"tokens_per_second": True})),
        *(("hold", {"after_tokens": -1}), ("hold", {}), ("hold", {"after_tokens": 1.5})),
        *(("script", {"turns": [[]]}), ("script", [])),
    ],
)
def test_a_wrong_order_from_the_lab_is_refused(model: Model, path: str, value: Any) -> None:
    assert post(model, value, f"/_lab/{path}").status_code == 400


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.0\r\n\r\n", 400),
        (b"POST /api/chat HTTP/1.1\r\nContent-Length: 5\r\n\r\n{{{{{", 400),
        (b"POST /api/chat HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /api/chat HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
        (b"POST /api/chat HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (b"GET /nowhere HTTP/1.1\r\n\r\n", 404),
    ],
)
def test_a_request_that_is_none_gets_a_status(model: Model, sent: bytes, status: int) -> None:
    address = urlsplit(model.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(sent)
        assert connection.recv(100).startswith(f"HTTP/1.1 {status} ".encode())


def test_requests_on_one_connection_are_answered_in_order(model: Model) -> None:
    address = urlsplit(model.url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(
            b"GET /api/version HTTP/1.1\r\n\r\nGET /nowhere HTTP/1.1\r\nConnection: close\r\n\r\n"
        )
        with connection.makefile("rb") as answers:
            assert re.findall(rb"HTTP/1.1 (\d+)", answers.read()) == [b"200", b"404"]


def test_a_pace_changes_nothing_but_the_time(model: Model) -> None:
    model.pace(2000)
    try:
        lines = post(model, body(COUNT)).text.splitlines()
    finally:
        model.pace(None)
    assert words(lines) == " ".join(str(number) for number in range(1, 31))


def test_numbers_and_samples_go_on_when_requests_are_forgotten(model: Model) -> None:
    post(model, body("Say once and again."))
    (first,) = model.requests()
    model.forget_requests()
    post(model, body("Say once and again."))
    (second,) = model.requests()
    assert (second["number"], second["sample"]) == (first["number"] + 1, first["sample"] + 1)


def test_a_fact_that_does_not_come_is_named(model: Model) -> None:
    with pytest.raises(TimeoutError, match="The answer to request 9999 has not ended"):
        model.wait_ended(9999, seconds=0.05)
    with pytest.raises(TimeoutError, match="There are not 1 replies held"):
        model.wait_held(seconds=0.05)
    with pytest.raises(TimeoutError, match="There are not 2 requests"):
        model.wait_requests(2, seconds=0.05)


def test_a_script_and_a_log_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text(json.dumps([say("Written beforehand.")]))
    log = tmp_path / "log.jsonl"
    options = ("--script", str(tmp_path / "script.json"), "--log", str(log), "--model", "tiny")
    with model_server(tmp_path, *options) as model:
        text = post(model, body("anything", model="tiny")).text
    assert words(text.splitlines()) == "Written beforehand."
    received, ended = (json.loads(line) for line in log.read_text().splitlines())
    assert received["body"]["messages"][0]["content"] == "anything"
    assert (ended["number"], ended["how"], ended["tokens"]) == (1, "done", 2)


def test_samples_come_in_the_same_order_in_another_process(tmp_path: Path) -> None:
    said = []
    for name in ("first", "second"):
        with model_server(tmp_path / name) as model:
            answers = [post(model, body("Hello", stream=False)).json() for _ in range(2)]
            said.append([answer["message"]["content"] for answer in answers])
    assert said[0] == said[1]
    assert said[0][0] != said[0][1]


def test_it_ends_with_its_owner_in_the_middle_of_a_reply(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with running("lab.model", tmp_path, "--log", str(log)) as process:
        with Model(process.ready["url"]) as model:
            model.hold(after_tokens=1)
            asking = Thread(target=_post_until_broken, args=(model,))
            asking.start()
            model.wait_held()
        pipe = process._started().stdin
        assert pipe is not None
        pipe.close()
        assert process.wait() == 0
        asking.join()
    assert json.loads(log.read_text().splitlines()[-1])["how"] == "stopped"


def _post_until_broken(model: Model) -> None:
    with pytest.raises(httpx.TransportError):
        post(model, body(COUNT))
