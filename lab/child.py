"""What every process of the lab that serves HTTP promises its owner.

It picks a free port unless it is given one, says in a ready file where it listens, and ends when
it is asked to, or when its owner does: `--owner-pipe stdin` means that the end of standard input
is the end of the owner, however the owner died. The ready file outlives the process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from lab.http.server import Handler, listening

HOST: Final = "127.0.0.1"
READ_AT_ONCE: Final = 4096  # bytes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=0, help="0 lets the system pick one")
    parser.add_argument("--ready-file", type=Path, help="gets pid, port and url when serving")
    parser.add_argument("--owner-pipe", choices=["stdin"], help="end when this pipe closes")


def serve(
    handler: Handler,
    options: argparse.Namespace,
    *,
    name: str,
    when_ready: Callable[[], None] | None = None,
) -> int:
    """Serve until asked to end; gives the process's exit status."""
    try:
        asyncio.run(_serve(handler, options, name, when_ready))
    except OSError as error:
        print(
            f"{name} cannot start: {error}. Another --port or --ready-file helps.", file=sys.stderr
        )
        return 1
    return 0


async def _serve(
    handler: Handler,
    options: argparse.Namespace,
    name: str,
    when_ready: Callable[[], None] | None,
) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def end() -> None:
        loop.call_soon_threadsafe(ended.set)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end())
    async with listening(handler, host=HOST, port=options.port) as port:
        url = f"http://{HOST}:{port}"
        if options.owner_pipe is not None:
            threading.Thread(target=_watch_owner, args=(end,), daemon=True).start()
        if options.ready_file is not None:
            announce(options.ready_file, port=port, url=url)
        print(f"{name}: {url}", flush=True)
        if when_ready is not None:
            when_ready()
        await ended.wait()


def announce(ready_file: Path, *, port: int, url: str) -> None:
    """Put the ready file in place whole: whoever sees it can read it."""
    ready_file.parent.mkdir(parents=True, exist_ok=True)
    draft = ready_file.with_name(f"{ready_file.name}.{os.getpid()}")
    draft.write_text(json.dumps({"pid": os.getpid(), "port": port, "url": url}), encoding="utf-8")
    draft.replace(ready_file)


def _watch_owner(end: Callable[[], None]) -> None:
    while os.read(sys.stdin.fileno(), READ_AT_ONCE):
        pass
    with suppress(RuntimeError):  # the loop is closed already: the process is ending anyway
        end()
