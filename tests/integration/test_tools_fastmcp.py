"""A server made with FastMCP, over stdio: what people write themselves."""

import asyncio
import sys
from pathlib import Path

from toolboxes import toolbox_in

SERVER = Path(__file__).parent.parent / "servers" / "workshop.py"


def test_a_fastmcp_server_is_used_with_all_it_can_return(tmp_path: Path) -> None:
    async def scenario() -> None:
        command = {"command": sys.executable, "args": [str(SERVER), str(tmp_path / "ledger")]}
        async with toolbox_in(tmp_path, {"shop": command}) as toolbox:
            mixed = (await toolbox.call("shop__mixed", {}, key="1")).text.split("\n\n")
            assert mixed == [
                "first",
                "[image: image/png, 20 bytes, not shown]",
                "[audio: audio/wav, 20 bytes, not shown]",
                "[link: notes, file:///notes.txt (7 bytes)]",
                "[resource: file:///notes.txt]\ninside",
                "[resource: file:///notes.txt, unknown type, 20 bytes, not shown]",
            ]
            assert (await toolbox.call("shop__add", {"a": "1", "b": 2}, key="2")).text == "3"
            wrong = await toolbox.call("shop__add", {"a": "one"}, key="3")
            assert (wrong.status, "validation error" in wrong.text) == ("error", True)
            # The model put a list into a string, and a string where a list should be.
            args = {"line": ["a", 1], "tags": '["b"]'}
            assert (await toolbox.call("shop__record", args, key="4")).status == "success"

    asyncio.run(scenario())
    assert (tmp_path / "ledger").read_text() == "[\"a\", 1] ['b']\n"
