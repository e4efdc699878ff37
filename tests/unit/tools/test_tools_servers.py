"""mcp.json is taken as a whole or refused as a whole, with file, place and remedy."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophos.errors import ToolsUnavailable
from sophos.tools.servers import Local, Remote, Servers, parse_servers, read_servers

FILE = Path("/house/config/mcp.json")
VARIABLES = {"CONFIG_DIR": "/house/config", "MEMORY_FILE_PATH": "/data/memory.jsonl"}


def parsed(value: Any) -> Servers:
    return parse_servers(json.dumps(value).encode(), FILE, VARIABLES)


def refusal(content: bytes) -> str:
    with pytest.raises(ToolsUnavailable) as refused:
        parse_servers(content, FILE, VARIABLES)
    assert refused.value.message.startswith("config/mcp.json")
    return refused.value.message


def local(**keys: Any) -> Local:
    address = parsed({"a": {"command": "run", **keys}})["a"].address
    assert isinstance(address, Local)
    return address


def test_a_plain_map_and_a_wrapped_one_mean_the_same() -> None:
    servers = {"a": {"command": "run"}, "b": {"url": "http://b/mcp"}}
    assert parsed(servers) == parsed({"mcpServers": servers})
    assert parsed({}) == parsed({"mcpServers": {}}) == {}


def test_a_command_with_a_slash_and_a_cwd_are_relative_to_the_file() -> None:
    assert local(command="../bin/node", cwd="../work").command == "/house/bin/node"
    assert local(command="node").command == "node"
    assert local(command="/bin/node").command == "/bin/node"
    assert local(cwd="../work").cwd == Path("/house/work")
    assert local().cwd == Path("/house/config")


def test_a_variable_is_expanded_everywhere_and_only_from_what_is_given() -> None:
    found = local(args=["${CONFIG_DIR}/x"], env={"FILE": "${MEMORY_FILE_PATH}"})
    assert found.args == ("/house/config/x",)
    assert found.env == {"FILE": "/data/memory.jsonl"}
    address = parsed({"b": {"url": "http://h${CONFIG_DIR}", "headers": {"X": "${CONFIG_DIR}"}}})
    assert address["b"].address == Remote(
        url="http://h/house/config", headers={"X": "/house/config"}
    )
    message = refusal(b'{"a": {"command": "run", "args": ["${HOME}"]}}')
    assert "a.args[0] uses ${HOME}, but there is only ${CONFIG_DIR}" in message


def test_a_doubled_sign_is_a_plain_one() -> None:
    assert local(args=["$${HOME} costs $5 {}"]).args == ("${HOME} costs $5 {}",)


def test_the_other_keys_are_carried() -> None:
    servers = {"a": {"command": "run", "optional": True, "approval": ["x"], "timeout": 2}}
    server = parsed({"mcpServers": servers, "approval": ["a__y__z"]})["a"]
    assert (server.optional, server.timeout) == (True, 2.0)
    assert server.approval == {"x", "y__z"}
    assert parsed({**servers, "approval": ["a__y"]})["a"].approval == {"x", "y"}


@pytest.mark.parametrize("transport", ["http", "streamable_http"])
def test_streamable_http_has_two_names(transport: str) -> None:
    server = {"url": "https://b:1/mcp", "transport": transport}
    assert isinstance(parsed({"b": server})["b"].address, Remote)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1, column 1"),
        ("{,}", "line 1, column 2"),
        ("[]", "the file must be an object"),
        ('{"a": {"command": "x"}, "a": {}}', "'a' stands twice"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": {"command": "x", "timeout": 1' + "0" * 5000 + "}}", "a number too long"),
        ('{"mcpServers": []}', "mcpServers must be an object"),
        ('{"mcpServers": {}, "servers": {}}', "has servers; known there: approval, mcpServers"),
        ('{"a": {}}', "a needs a command, or a url"),
        ('{"a": {"command": ""}}', "a.command must not be empty"),
        ('{"a": {"command": 1}}', "a.command must be a string"),
        ('{"a": {"command": "x", "args": "y"}}', "a.args must be a list"),
        ('{"a": {"command": "x", "args": ["y", 1]}}', "a.args[1] must be a string"),
        ('{"a": {"command": "x", "args": ["\\u0000"]}}', "NUL"),
        ('{"a": {"command": "x", "args": ["\\ud800"]}}', "half a character"),
        ('{"a": {"command": "x", "env": {"A=B": ""}}}', "no name for an environment variable"),
        ('{"a": {"command": "x", "env": {"A": 1}}}', "a.env.A must be a string"),
        ('{"a": {"command": "x", "url": "http://b"}}', "a has url"),
        ('{"a": {"command": "x", "comand": "y"}}', "a has comand"),
        ('{"a": {"command": "x", "optional": 1}}', "a.optional must be true or false"),
        ('{"a": {"command": "x", "timeout": 0}}', "a.timeout must be more than 0"),
        ('{"a": {"command": "x", "timeout": true}}', "a.timeout must be a number"),
        ('{"a": {"command": "x", "transport": "smoke"}}', "a.transport must be one of"),
        ('{"a": {"transport": "http"}}', "a needs a url"),
        ('{"a": {"url": "ftp://b"}}', "a.url must be a URL"),
        ('{"a": {"url": "http://b:99999"}}', "a.url must be a URL"),
        ('{"a": {"url": "http://b/ c"}}', "a.url must be a URL"),
        ('{"a": {"url": "http://b", "headers": {"X": "a\\nb"}}}', "control characters"),
        ('{"a": {"url": "http://b", "headers": {"X Y": "a"}}}', "must be an HTTP header"),
        ('{"a": {"command": "x", "approval": [""]}}', "a.approval[0] must not be empty"),
        ('{"mcpServers": {}, "approval": ["b__x"]}', "approval[0] must name a tool"),
        ('{"mcpServers": {}, "approval": 1}', "approval must be a list"),
        *(
            (json.dumps({name: {"command": "x"}}), "is no name for a server")
            for name in ("", "a b", "a__b", "a_", "ä", "a/b")
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_place(text: str, said: str) -> None:
    assert said in refusal(text.encode())


def test_a_file_that_is_not_utf8_is_refused() -> None:
    assert "byte 6 is not UTF-8" in refusal(b'{"a": \xff}')
    assert parse_servers(b"\xef\xbb\xbf{}", FILE, {}) == {}


def test_a_file_that_is_not_there_is_told_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(ToolsUnavailable) as refused:
        read_servers(tmp_path / "config" / "mcp.json", {})
    assert "config/mcp.json is not there. Create it" in refused.value.message
    assert str(tmp_path) not in refused.value.message


def test_a_secret_is_never_shown() -> None:
    server = {"command": "x", "env": {"KEY": "hush"}}
    remote = {"url": "http://b/hush", "headers": {"Authorization": "hush"}}
    assert "hush" not in repr(parsed({"a": server, "b": remote}))
    assert "hush" not in refusal(json.dumps({"a": {**server, "timeout": "hush"}}).encode())


KEYS = st.sampled_from(
    ["a", "command", "args", "env", "cwd", "url", "headers", "approval", "timeout", "mcpServers"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_any_json_is_taken_or_refused_with_our_error(value: Any) -> None:
    try:
        servers = parse_servers(json.dumps(value).encode(), FILE, VARIABLES)
    except ToolsUnavailable as refused:
        assert refused.message.startswith("config/mcp.json")  # noqa: PT017
    else:
        assert all(server.name == name for name, server in servers.items())
