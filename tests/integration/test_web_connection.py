"""What is not quite HTTP, too much, too slow, or cut off: raw sockets against a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from served import run, served

from sophos.errors import BadRequest, MessageTooLarge
from sophos.web.bodies import BODY_LIMIT, read_body

HEAD = b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def parsed(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]


NOT_HTTP = [
    b"hello\r\n\r\n",
    b"GET /api/healthz HTTP/1.1\r\n\r\n",
    b"GET /api/healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /api/healthz HTTP/x\r\nHost: localhost\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000,
    HEAD + b"Content-Length: -1\r\n\r\n",
    HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 32 + b"\r\n\r\n",
]


def test_what_is_not_http_is_refused_in_the_one_shape() -> None:
    async def scenario() -> None:
        async with served() as site:
            for request_bytes in NOT_HTTP:
                answer = parsed(await site.raw(request_bytes))
                assert answer == (400, "BAD_REQUEST"), request_bytes[:80]
            assert (await site.http.get("/api/healthz")).status_code == 200

    run(scenario())


def test_a_host_that_is_missing_is_no_host_of_ours() -> None:
    async def scenario() -> None:
        async with served() as site:
            answer = await site.raw(b"GET /api/healthz HTTP/1.0\r\n\r\n")
            assert parsed(answer) == (403, "FORBIDDEN_HOST")

    run(scenario())


def test_a_body_that_says_it_is_too_large_is_refused_unread() -> None:
    async def scenario() -> None:
        async with served() as site:
            # Only the head is sent: the answer cannot have waited for the body.
            head = HEAD + b"Connection: close\r\nContent-Length: 5000000000\r\n\r\n"
            assert parsed(await site.raw(head)) == (413, "MESSAGE_TOO_LARGE")

    run(scenario())


def test_a_body_too_long_for_its_limit_gets_its_answer_however_it_is_sent() -> None:
    async def scenario() -> None:
        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(8):
                yield b" " * 1_000_000

        async with served() as site:
            headers = {"Content-Type": "application/json"}
            for content in (b" " * 8_000_000, chunks()):
                answer = await site.http.post("/api/chat", content=content, headers=headers)
                assert answer.status_code == 413
                assert answer.json()["error"]["code"] == "MESSAGE_TOO_LARGE"

    run(scenario())


def test_a_body_that_is_cut_off_starts_nothing() -> None:
    async def scenario() -> None:
        async with served() as site:
            reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(HEAD + b'Content-Length: 100\r\n\r\n{"message": "a"}')
            writer.write_eof()
            await reader.read()
            writer.close()
            listed = await site.http.get("/api/conversations")
            assert listed.json()["conversations"] == []

    run(scenario())


def test_a_request_that_never_ends_does_not_hold_up_a_shutdown() -> None:
    async def scenario() -> None:
        async with served() as site:
            _, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: local")
            await writer.drain()
        writer.close()

    run(scenario())


def test_a_body_must_arrive_in_time() -> None:
    async def scenario() -> None:
        async def never() -> dict[str, object]:
            await asyncio.Event().wait()
            return {}

        headers = {b"content-length": b"5", b"content-type": b"application/json; charset=utf-8"}
        with pytest.raises(BadRequest, match="did not arrive"):
            await read_body(headers, never, seconds=0.01)

    run(scenario())


def test_a_body_is_counted_while_it_is_read() -> None:
    async def scenario() -> None:
        read = 0

        async def endless() -> dict[str, object]:
            nonlocal read
            read += 1
            return {"type": "http.request", "body": b" " * 100_000, "more_body": True}

        headers = {b"transfer-encoding": b"chunked", b"content-type": b"application/json"}
        with pytest.raises(MessageTooLarge):
            await read_body(headers, endless)
        assert read == BODY_LIMIT // 100_000 + 1

    run(scenario())
