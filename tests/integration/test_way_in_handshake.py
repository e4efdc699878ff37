"""The doctor tells an MCP server that starts from whatever else there is."""

import os
import sys
from pathlib import Path

import pytest

from lab.handshake import NoAnswer, introduce

ANSWERS = """
import json, sys
hello = json.loads(sys.stdin.readline())
info = {"name": "a server", "version": hello["params"]["protocolVersion"]}
print(json.dumps({"jsonrpc": "2.0", "id": hello["id"], "result": {"serverInfo": info}}), flush=True)
sys.stdin.read()
"""


def say(code: str) -> str:
    return introduce([sys.executable, "-I", "-c", code], os.environ)


def test_a_server_that_answers_is_named() -> None:
    assert say(ANSWERS) == "a server 2025-06-18"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import sys; sys.stdin.readline(); sys.exit(3)", "said nothing"),
        ("print('Welcome!'); input()", "something else: b'Welcome!"),
        ("print('{}'); input()", "something else"),
        ("print('{\"result\": 1}'); input()", "something else"),
    ],
)
def test_a_server_that_does_not_is_told_with_what_it_said(code: str, told: str) -> None:
    with pytest.raises(NoAnswer, match=told):
        say(code)


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="no-server could not be started"):
        introduce([tmp_path / "no-server"], {})
