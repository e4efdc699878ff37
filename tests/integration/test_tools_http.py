"""Tool servers over Streamable HTTP: the same promises, on a connection that breaks otherwise."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp.types import ToolAnnotations
from toolboxes import configure, toolbox_in, until
from workshop import workshop

from sophos.errors import ToolsUnavailable


def bound(port: int = 0) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    return listener


@asynccontextmanager
async def served(app: Any, port: int = 0) -> AsyncIterator[int]:
    """The port `app` is served on, by a real uvicorn, for as long as the block lasts."""
    with bound(port) as listener:
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=0)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: server.started)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await task


def at(port: int, **keys: Any) -> dict[str, Any]:
    return {"shop": {"url": f"http://127.0.0.1:{port}/mcp", "transport": "http", **keys}}


def test_a_server_over_http_is_used_like_any_other(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            served(workshop(tmp_path / "ledger").streamable_http_app()) as port,
            toolbox_in(tmp_path, at(port)) as toolbox,
        ):
            offered = {tool.name for tool in (await toolbox.offer()).tools}
            assert offered == {"shop__add", "shop__fail", "shop__mixed", "shop__record"}
            assert (await toolbox.call("shop__add", {"a": 1, "b": 2}, key="1")).text == "3"
            failed = await toolbox.call("shop__fail", {}, key="2")
            assert (failed.status, "out of wood" in failed.text) == ("error", True)

    asyncio.run(scenario())


def test_a_server_that_was_restarted_knows_us_no_more_and_gets_the_call_again(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {}) as toolbox:
            async with served(workshop(tmp_path / "ledger").streamable_http_app()) as port:
                configure(tmp_path, at(port))
                await toolbox.offer()
            async with served(workshop(tmp_path / "ledger").streamable_http_app(), port):
                # It changes something, and is made again all the same: it certainly did not happen.
                result = await toolbox.call("shop__record", {"line": "once"}, key="1")
                assert result.status == "success"
            assert (tmp_path / "ledger").read_text() == "once None\n"

    asyncio.run(scenario())


def test_a_server_that_is_gone_had_no_effect_and_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {}) as toolbox:
            async with served(workshop(tmp_path / "ledger").streamable_http_app()) as port:
                configure(tmp_path, at(port))
                await toolbox.offer()
            result = await toolbox.call("shop__record", {"line": "x"}, key="1")
            assert result.status == "error"
            assert "nothing answers at its url; start it. Nothing was done." in result.text
            with pytest.raises(ToolsUnavailable, match="nothing answers at its url"):
                await toolbox.offer()

    asyncio.run(scenario())


def test_an_effect_of_the_first_try_is_not_denied_when_the_second_reaches_nobody(
    tmp_path: Path,
) -> None:
    ledger = tmp_path / "ledger"
    server = workshop(ledger)

    @server.tool(annotations=ToolAnnotations(idempotentHint=True))
    def keep(line: str) -> str:
        ledger.write_text(f"{line}\n", encoding="utf-8")
        return line

    inner = server.streamable_http_app()
    calls: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        status = None

        async def heard() -> Any:
            nonlocal status
            message = await receive()
            if b'"tools/call"' in message.get("body", b""):
                # Of the first try the effect is there and the answer lost; the second is told that
                # nobody knows the session.
                status = 404 if calls else 500
                calls.append(message["body"])
            return message

        async def said(message: Any) -> None:
            if status and message["type"] == "http.response.start":
                message = {**message, "status": status}
            await send(message)

        await inner(scope, heard, said)

    async def scenario() -> None:
        async with served(app) as port, toolbox_in(tmp_path, at(port)) as toolbox:
            result = await toolbox.call("shop__keep", {"line": "once"}, key="1")
            assert (result.status, len(calls)) == ("error", 2)
            assert "The call may have taken effect; to repeat it does no harm." in result.text
            assert ledger.read_text() == "once\n"

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_url_that_is_no_tool_server_is_told_by_its_status(tmp_path: Path, status: int) -> None:
    async def refuse(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"secret"})

    async def scenario() -> None:
        async with served(refuse) as port, toolbox_in(tmp_path, at(port)) as toolbox:
            with pytest.raises(ToolsUnavailable, match=f"status {status}") as told:
                await toolbox.offer()
            assert "secret" not in told.value.message

    asyncio.run(scenario())


def test_headers_are_sent_and_a_proxy_is_not_asked_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    inner = workshop(tmp_path / "ledger").streamable_http_app()
    seen: set[bytes] = set()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.update(value for name, value in scope.get("headers", ()) if name == b"x-key")
        await inner(scope, receive, send)

    async def scenario() -> None:
        async with (
            served(app) as port,
            toolbox_in(tmp_path, at(port, headers={"X-Key": "open"})) as toolbox,
        ):
            assert (await toolbox.offer()).tools

    asyncio.run(scenario())
    assert seen == {b"open"}
