"""Calls of tools: what comes back, and what is believed when nothing does."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from toolboxes import alive, facts, facts_with, pids, small, toolbox_in, until

from sophos.errors import ToolsUnavailable
from sophos.protections import Protection, Protections
from sophos.tool import ToolResult


def call(folder: Path, tool: str, args: dict[str, Any], **terms: Any) -> ToolResult:
    """One call of a tool of `small.py`, on a toolbox of its own; its journal is `folder`/a."""

    async def scenario() -> ToolResult:
        async with toolbox_in(folder, {"a": small(folder / "a")}, **terms) as toolbox:
            return await toolbox.call(f"a__{tool}", args, key="thread:call")

    return asyncio.run(scenario())


@pytest.mark.parametrize("tool", ["look", "set", "once"])
def test_a_harmless_call_whose_server_died_is_made_again_once(tmp_path: Path, tool: str) -> None:
    assert call(tmp_path, tool, {"then": "die once"}).status == "success"
    assert len(facts_with(tmp_path / "a", "called")) == 2


def test_a_call_that_may_have_had_its_effect_is_not_made_again(tmp_path: Path) -> None:
    result = call(tmp_path, "add", {"then": "die once"})
    assert result.status == "error"
    assert "may or may not have taken effect: check before you repeat it" in result.text
    assert facts_with(tmp_path / "a", "done") == ["add"]


@pytest.mark.parametrize("tool", ["look", "set", "once", "add", "wipe"])
def test_a_server_that_dies_at_every_call_is_an_error_and_no_storm(
    tmp_path: Path, tool: str
) -> None:
    assert call(tmp_path, tool, {"then": "die"}).status == "error"
    assert len(pids(tmp_path / "a")) <= 2


def test_a_server_that_died_between_two_calls_is_started_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            await toolbox.offer()
            os.kill(pids(tmp_path / "a")[0], signal.SIGKILL)
            await until(toolbox.troubles)
            # It changes something, and is made all the same: nobody had taken it before.
            assert (await toolbox.call("a__add", {}, key="1")).status == "success"
            assert not toolbox.troubles()
            assert (await toolbox.offer()).tools

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 2


def test_two_children_of_one_server_never_live_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        servers = {"a": small(tmp_path / "a", "slow to end")}
        async with toolbox_in(tmp_path, servers) as toolbox:
            result = await toolbox.call("a__look", {"then": "go mute"}, key="1")
            assert result.status == "error"

    asyncio.run(scenario())
    assert facts_with(tmp_path / "a", "beside") == [[], []]


def test_without_reconnect_one_dead_server_fails_every_later_use(tmp_path: Path) -> None:
    async def scenario() -> None:
        off = Protections.without(Protection.RECONNECT)
        servers = {"a": small(tmp_path / "a"), "b": small(tmp_path / "b")}
        async with toolbox_in(tmp_path, servers, protections=off) as toolbox:
            assert (await toolbox.call("a__look", {"then": "die once"}, key="1")).status == "error"
            for _ in range(2):
                with pytest.raises(ToolsUnavailable, match="a cannot be used: it died"):
                    await toolbox.offer()
                assert "it died" in (await toolbox.call("a__look", {}, key="2")).text
                assert (await toolbox.call("b__look", {}, key="3")).status == "success"

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 1


def test_a_call_that_takes_too_long_is_given_up_and_withdrawn(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = small(tmp_path / "a", timeout=2)
        async with toolbox_in(tmp_path, {"a": server}) as toolbox:
            result = await toolbox.call("a__add", {"then": "hang"}, key="1")
            assert result.status == "error"
            assert "did not answer within 2 s" in result.text
            assert "may still finish" in result.text
            await until(lambda: facts_with(tmp_path / "a", "cancelled") == ["add"])
            assert (await toolbox.call("a__add", {}, key="2")).status == "success"

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 1


def test_a_cancelled_call_is_withdrawn(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            running = asyncio.create_task(toolbox.call("a__add", {"then": "hang"}, key="1"))
            await until(lambda: facts_with(tmp_path / "a", "done"))
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await until(lambda: facts_with(tmp_path / "a", "cancelled") == ["add"])

    asyncio.run(scenario())


def test_a_call_that_never_left_is_known_not_to_have_happened(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = small(tmp_path / "a", timeout=2)
        async with toolbox_in(tmp_path, {"a": server}) as toolbox:
            await toolbox.offer()
            [pid] = pids(tmp_path / "a")
            os.kill(pid, signal.SIGSTOP)
            # The first fills the pipe, the second waits at its mouth, the third behind both.
            long = {"text": "x" * 300_000}
            calls = [toolbox.call("a__look", long, key=str(n)) for n in range(2)]
            early = [asyncio.create_task(made) for made in calls]
            await asyncio.sleep(0)
            last = await toolbox.call("a__add", {}, key="3")
            assert "never sent: nothing was done" in last.text
            assert {(await made).status for made in early} == {"error"}
            os.kill(pid, signal.SIGCONT)
            await until(lambda: len(facts_with(tmp_path / "a", "called")) == 2)
            assert (await toolbox.call("a__look", {}, key="4")).status == "success"

    asyncio.run(scenario())
    assert facts_with(tmp_path / "a", "called") == ["look"] * 3


def test_calls_that_change_something_take_turns_and_reads_do_not_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            first = asyncio.create_task(toolbox.call("a__add", {"then": "wait"}, key="1"))
            await until(lambda: facts_with(tmp_path / "a", "called"))
            second = asyncio.create_task(toolbox.call("a__set", {}, key="2"))
            await toolbox.call("a__look", {}, key="3")
            assert facts_with(tmp_path / "a", "called") == ["add", "look"]
            (tmp_path / "a.go").touch()
            assert {(await first).status, (await second).status} == {"success"}

    asyncio.run(scenario())
    assert facts_with(tmp_path / "a", "called") == ["add", "look", "set"]


@pytest.mark.parametrize("then", ["print", "half", "deep"])
def test_an_answer_that_is_hard_to_read_still_arrives(tmp_path: Path, then: str) -> None:
    result = call(tmp_path, "look", {"then": then})
    assert result.status == "success"
    result.text.encode()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"content": None},
        {"content": "text"},
        {"content": [{"type": "hologram", "data": 1}, 7, None]},
        {"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]},
        {"content": [], "structuredContent": [1, 2]},
        {"isError": "perhaps"},
    ],
)
def test_an_answer_of_any_shape_becomes_text(tmp_path: Path, answer: dict[str, Any]) -> None:
    result = call(tmp_path, "look", {"then": "raw", "text": json.dumps(answer)})
    assert result.status == "success"
    assert result.text


def test_a_protocol_error_is_an_error_result_with_the_servers_words(tmp_path: Path) -> None:
    assert call(tmp_path, "add", {"then": "refuse"}) == ToolResult(
        text="not like this", status="error"
    )


def test_a_server_that_greets_on_its_standard_output_is_still_understood(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a", "loud")}) as toolbox:
            assert (await toolbox.call("a__look", {}, key="1")).status == "success"

    asyncio.run(scenario())


def test_a_string_arrives_byte_for_byte(tmp_path: Path) -> None:
    text = '{"a": [1,  2],\n "b": "ü\\u00fc"}'
    name, args = json.loads(call(tmp_path, "look", {"text": text}).text)
    assert (name, args) == ("look", {"text": text})


def test_half_a_character_is_not_sent_and_the_session_lives(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            result = await toolbox.call("a__add", {"text": "\ud83d"}, key="1")
            assert "was not called" in result.text
            assert (await toolbox.call("a__add", {}, key="2")).status == "success"

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 1


def test_a_key_is_hidden_from_the_model_and_the_same_at_every_attempt(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            offered = {tool.name: tool for tool in (await toolbox.offer()).tools}["a__once"]
            assert "idempotency_key" not in json.dumps(offered.schema)
            args = {"then": "die once", "idempotency_key": "the model's own idea"}
            await toolbox.call("a__once", args, key="thread:call")

    asyncio.run(scenario())
    keys = [fact["key"] for fact in facts(tmp_path / "a") if "done" in fact]
    assert keys == ["thread:call", "thread:call"]


def test_without_the_key_protection_every_attempt_has_another(tmp_path: Path) -> None:
    off = Protections.without(Protection.IDEMPOTENCY_KEY)
    call(tmp_path, "once", {"then": "die once"}, protections=off)
    keys = {fact["key"] for fact in facts(tmp_path / "a") if "done" in fact}
    assert len(keys) == 2


def test_a_long_result_is_cut_with_a_note(tmp_path: Path) -> None:
    result = call(tmp_path, "look", {"text": "x" * 2_000_000}, result_limit=100)
    assert len(result.text) < 200
    assert "characters left out" in result.text


def test_nothing_is_started_after_the_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            await toolbox.offer()
        with pytest.raises(ToolsUnavailable):
            await toolbox.offer()
        assert (await toolbox.call("a__look", {}, key="1")).status == "error"

    asyncio.run(scenario())
    assert [alive(pid) for pid in pids(tmp_path / "a")] == [False]
