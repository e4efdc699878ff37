"""Connecting to tool servers: lazily, once, side by side, and again when something changed."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from toolboxes import alive, configure, facts_with, pids, small, toolbox_in, until

from sophos.errors import ToolsUnavailable
from sophos.tools.toolbox import Toolbox


async def names(toolbox: Toolbox) -> list[str]:
    return [tool.name for tool in (await toolbox.offer()).tools]


def test_nothing_is_read_or_started_before_the_first_use(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path / "there is no such folder") as toolbox:
            assert toolbox.troubles() == {}
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}):
            pass

    asyncio.run(scenario())
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "memory").exists()


def test_one_child_per_server_however_many_ask_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        servers = {name: small(tmp_path / name) for name in ("a", "b")}
        async with toolbox_in(tmp_path, servers) as toolbox:
            await asyncio.gather(*(toolbox.offer() for _ in range(20)))
            await asyncio.gather(*(toolbox.call("a__look", {}, key=str(n)) for n in range(20)))
            await toolbox.offer()

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == len(pids(tmp_path / "b")) == 1


def test_to_begin_starts_the_servers_and_waits_for_none(tmp_path: Path) -> None:
    async def scenario() -> None:
        servers = {"a": small(tmp_path / "a"), "quiet": small(tmp_path / "quiet", "silent")}
        async with toolbox_in(tmp_path, servers) as toolbox:
            await toolbox.begin()
            await until(lambda: pids(tmp_path / "a") and pids(tmp_path / "quiet"))
            configure(tmp_path, {"a": servers["a"]})
            assert "a__look" in await names(toolbox)

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 1
    assert not any(alive(pid) for pid in pids(tmp_path / "quiet"))


def test_what_fails_before_anybody_asks_is_told_to_the_first_who_does(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a", "fails")}) as toolbox:
            await toolbox.begin()
            await until(toolbox.troubles)
            with pytest.raises(ToolsUnavailable, match="it ended before it answered"):
                await toolbox.offer()
            assert len(pids(tmp_path / "a")) == 1
            with pytest.raises(ToolsUnavailable):
                await toolbox.offer()
            assert len(pids(tmp_path / "a")) == 2

    asyncio.run(scenario())


def test_what_failed_long_ago_is_tried_again_and_not_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a", "fails")}) as toolbox:
            await toolbox.begin()
            await until(toolbox.troubles)
            session = toolbox._links["a"]._session
            assert session is not None
            session.ended_at -= 3600
            with pytest.raises(ToolsUnavailable):
                await toolbox.offer()

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 2


def test_to_begin_with_a_broken_file_is_no_error_yet(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "mcp.json").write_text("{")
        async with toolbox_in(tmp_path) as toolbox:
            await toolbox.begin()
            with pytest.raises(ToolsUnavailable, match=r"mcp\.json"):
                await toolbox.offer()

    asyncio.run(scenario())


def test_whoever_asks_first_may_be_cancelled_while_others_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            first = asyncio.create_task(toolbox.offer())
            await until(lambda: pids(tmp_path / "a"))
            others = [asyncio.create_task(toolbox.offer()) for _ in range(3)]
            first.cancel()
            for other in others:
                assert (await other).tools

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 1


def test_a_server_that_fails_is_named_and_the_others_stay(tmp_path: Path) -> None:
    async def scenario() -> None:
        servers = {"good": small(tmp_path / "good"), "bad": small(tmp_path / "bad", "fails")}
        async with toolbox_in(tmp_path, servers) as toolbox:
            with pytest.raises(ToolsUnavailable, match="bad cannot be used: it ended before"):
                await toolbox.offer()
            assert list(toolbox.troubles()) == ["bad"]
            assert (await toolbox.call("good__look", {}, key="1")).status == "success"
            # What only made it fail is mended; nothing else has to be told.
            configure(tmp_path, {**servers, "bad": small(tmp_path / "bad")})
            assert {"bad__look", "good__look"} <= set(await names(toolbox))

    asyncio.run(scenario())
    assert len(pids(tmp_path / "good")) == 1


def test_the_next_use_tries_again(tmp_path: Path) -> None:
    (tmp_path / "mend.sh").write_text("exit 1")

    async def scenario() -> None:
        runs = small(tmp_path / "a")
        line = " ".join([f'"{runs["command"]}"', *(f'"{arg}"' for arg in runs["args"])])
        server = {"command": "/bin/sh", "args": [str(tmp_path / "mend.sh")]}
        async with toolbox_in(tmp_path, {"a": server}) as toolbox:
            with pytest.raises(ToolsUnavailable):
                await toolbox.offer()
            (tmp_path / "mend.sh").write_text(f"exec {line}")
            assert "a__look" in await names(toolbox)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("manner", "said"),
    [
        ("silent", "did not answer within 0.5 s"),
        ("fails", "ended before it answered"),
        ("ancient", "does not speak MCP"),
        ("endless", "list of tools has no end"),
    ],
)
def test_a_server_that_never_gets_ready_is_given_up_and_ended(
    tmp_path: Path, manner: str, said: str
) -> None:
    async def scenario() -> None:
        server = small(tmp_path / "a", manner, timeout=0.5 if manner == "silent" else 20)
        async with toolbox_in(tmp_path, {"a": server}) as toolbox:
            with pytest.raises(ToolsUnavailable, match=said):
                await toolbox.offer()
            result = await toolbox.call("a__look", {}, key="1")
            assert result.status == "error"
            assert "Nothing was done." in result.text

    asyncio.run(scenario())
    assert not any(alive(pid) for pid in pids(tmp_path / "a"))


def test_an_optional_server_is_left_out_with_a_note(tmp_path: Path) -> None:
    async def scenario() -> None:
        servers = {
            "a": small(tmp_path / "a"),
            "b": {"command": "no-such-command", "optional": True},
            "c": {"url": "http://127.0.0.1:9/mcp", "optional": True},
        }
        async with toolbox_in(tmp_path, servers) as toolbox:
            for _ in range(3):
                offer = await toolbox.offer()
                assert {tool.name.split("__")[0] for tool in offer.tools} == {"a"}
                first, second = offer.notes
                assert "no-such-command is not there" in first
                assert "nothing answers at its url" in second

    asyncio.run(scenario())


def test_a_changed_file_is_followed_and_what_stays_the_same_stays_connected(tmp_path: Path) -> None:
    async def scenario() -> None:
        servers = {name: small(tmp_path / name) for name in ("kept", "changed", "removed")}
        async with toolbox_in(tmp_path, servers) as toolbox:
            await toolbox.offer()
            del servers["removed"]
            servers |= {
                "changed": small(tmp_path / "changed", "loud"),
                "new": small(tmp_path / "new"),
            }
            configure(tmp_path, servers)
            found = {name.split("__")[0] for name in await names(toolbox)}
            assert found == {"kept", "changed", "new"}
            assert not alive(pids(tmp_path / "removed")[0])

    asyncio.run(scenario())
    assert [len(pids(tmp_path / name)) for name in ("kept", "changed", "new")] == [1, 2, 1]


def test_a_server_whose_end_was_not_waited_for_is_started_anew_when_it_is_wanted_again(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        servers = {"a": small(tmp_path / "a")}
        async with toolbox_in(tmp_path, servers) as toolbox:
            await toolbox.offer()
            configure(tmp_path, {})
            asking = asyncio.create_task(toolbox.offer())
            await asyncio.sleep(0)  # it has told the server to end, and waits for that
            asking.cancel()
            await asyncio.wait([asking])
            assert asking.cancelled()
            configure(tmp_path, servers)
            assert "a__look" in await names(toolbox)

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 2
    assert not any(alive(pid) for pid in pids(tmp_path / "a"))


def test_a_broken_file_is_told_and_changes_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            before = await toolbox.offer()
            (tmp_path / "mcp.json").write_text('{"mcpServers": }')
            with pytest.raises(ToolsUnavailable, match=r"mcp\.json: line 1, column 16"):
                await toolbox.offer()
            assert (await toolbox.call("a__look", {}, key="1")).status == "success"
            configure(tmp_path, {"a": small(tmp_path / "a")})
            assert await toolbox.offer() == before

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 1


def test_every_page_of_a_list_is_read_and_a_tool_listed_twice_is_offered_once(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a", "pages", "twice")}) as toolbox:
            tools = (await toolbox.offer()).tools
            assert [tool.name.removeprefix("a__") for tool in tools] == [
                *("add", "look", "once", "set", "wipe")
            ]
            assert tools[0].description == ""

    asyncio.run(scenario())


def test_a_list_that_changes_is_read_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a")}) as toolbox:
            assert "a__grown" not in await names(toolbox)
            await toolbox.call("a__look", {"then": "grow"}, key="1")
            assert "a__grown" in await names(toolbox)

    asyncio.run(scenario())


def test_the_same_tool_on_two_servers_is_two_tools(tmp_path: Path) -> None:
    async def scenario() -> None:
        servers = {name: small(tmp_path / name) for name in ("a", "b")}
        async with toolbox_in(tmp_path, servers) as toolbox:
            assert {"a__add", "b__add"} <= set(await names(toolbox))
            await toolbox.call("b__add", {}, key="1")

    asyncio.run(scenario())
    assert not facts_with(tmp_path / "a", "called")
    assert facts_with(tmp_path / "b", "called") == ["add"]


def test_approval_is_asked_for_what_is_destructive_or_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        configure(
            tmp_path, {"a": small(tmp_path / "a", approval=["add", "gone"])}, approval=["a__set"]
        )
        async with toolbox_in(tmp_path) as toolbox:
            offer = await toolbox.offer()
            asked = [tool.name for tool in offer.tools if tool.needs_approval]
            assert asked == ["a__add", "a__set", "a__wipe"]
            assert ["a__gone" in note for note in offer.notes] == [True]

    asyncio.run(scenario())


def test_a_child_has_what_it_was_given_and_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPHOS_TOKEN", "hush")
    monkeypatch.setenv("NAME", "a value of ours")

    async def scenario() -> None:
        own = {"FILE": "${MEMORY_FILE_PATH}", "MONEY": "$${NAME}"}
        async with toolbox_in(
            tmp_path,
            {"a": small(tmp_path / "a", env=own)},
            environment={"PATH": os.defpath, "HTTPS_PROXY": "http://proxy"},
        ) as toolbox:
            environment = json.loads((await toolbox.call("a__look", {"then": "env"}, key="1")).text)
        assert environment["FILE"] == str(tmp_path / "memory" / "memory.jsonl")
        assert environment["MONEY"] == "${NAME}"
        assert environment["HTTPS_PROXY"] == "http://proxy"
        assert not {"SOPHOS_TOKEN", "NAME"} & environment.keys()

    asyncio.run(scenario())
    assert (tmp_path / "memory").is_dir()


def test_what_a_failing_server_said_last_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a", "fails")}) as toolbox:
            with pytest.raises(ToolsUnavailable):
                await toolbox.offer()

    asyncio.run(scenario())
    [record] = caplog.records
    assert vars(record)["server"] == "a"
    assert vars(record)["last_words"].endswith("these are my last words")


def test_a_server_that_says_much_on_its_standard_error_is_not_held_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a", "chatty")}) as toolbox:
            assert (await toolbox.offer()).tools

    asyncio.run(scenario())


def test_a_server_that_keeps_failing_is_started_less_and_less_often(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with toolbox_in(tmp_path, {"a": small(tmp_path / "a", "fails")}) as toolbox:
            for _ in range(3):
                with pytest.raises(ToolsUnavailable):
                    await toolbox.offer()
            toolbox._links["a"]._failures = 9
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await toolbox.offer()

    asyncio.run(scenario())
    assert len(pids(tmp_path / "a")) == 3
