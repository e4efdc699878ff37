"""How a thread grows, and how long a long one takes to read: turns of 1 KB, one conversation.

Sizes are of the database file with its log copied into it, less what an empty one takes. A turn's
time is from the message to the end of its stream.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from measuring import Figure, main, timed

from lab.bench import Bench
from lab.model.script import say

HALF = "x" * 512  # a message; two make a turn of 1 KB
TURNS = (100, 200, 400, 800)
LONG = 1_000  # messages, of the thread that is read


def measure(samples: int) -> Sequence[Figure]:
    figures: list[Figure] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Bench("threads", model="scripted", root=Path(folder)) as bench,
    ):
        (bench.workspace.config / "mcp.json").write_text(
            json.dumps({"mcpServers": {}}), encoding="utf-8"
        )
        client, conversation, done = bench.client, None, 0
        empty = _size(bench)
        for target in TURNS:
            times: list[float] = []
            bench.model.script([say(HALF)] * (target - done))
            while done < target:
                with timed(times, unit=1000):
                    started = client.start(HALF, conversation)
                    conversation = started.conversation
                    client.wait(started.run)
                done += 1
                if done == LONG // 2:
                    figures += _reads(bench, conversation, samples)
            size = _size(bench) - empty
            figures += [
                Figure(what=f"file after {target} turns", unit="bytes", samples=[size]),
                Figure(
                    what="its size by the messages' bytes",
                    unit="×",
                    samples=[size / (target * 1024)],
                ),
                Figure(what="the last 20 turns of them", unit="ms", samples=times[-20:]),
            ]
        bench.model.close()
    return figures


def _reads(bench: Bench, conversation: str, samples: int) -> Sequence[Figure]:
    live: list[float] = []
    for _ in range(samples):
        with timed(live, unit=1000):
            bench.client.read(conversation)
    bench.sophos.restart()
    bench.client.read(bench.client.wait(bench.client.start("Warm up").run)["conversation"])
    reloaded: list[float] = []
    for _ in range(samples):
        with timed(reloaded, unit=1000):
            bench.client.read(conversation)
    return [
        Figure(what=f"read {LONG} messages, live", unit="ms", samples=live),
        Figure(what=f"read {LONG} messages, after a restart", unit="ms", samples=reloaded),
    ]


def _size(bench: Bench) -> int:
    with closing(sqlite3.connect(bench.workspace.database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return bench.workspace.database.stat().st_size


if __name__ == "__main__":
    main(measure, __doc__ or "")
