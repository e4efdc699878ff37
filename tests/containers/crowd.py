"""crowd.py SECONDS: a tool server that tells how many calls it was in the middle of.

A call waits for four others for as long as it is told, and answers at once when they are there.
"""

import asyncio
import sys
from contextlib import suppress

from mcp.server.fastmcp import FastMCP

server = FastMCP("crowd", log_level="ERROR")
inside: list[int] = [0]
together = asyncio.Event()


@server.tool()
async def enter() -> str:
    inside[0] += 1
    if inside[0] == 5:
        together.set()
    with suppress(TimeoutError):
        await asyncio.wait_for(together.wait(), float(sys.argv[1]))
    seen = 5 if together.is_set() else inside[0]
    inside[0] -= 1
    return str(seen)


server.run()
