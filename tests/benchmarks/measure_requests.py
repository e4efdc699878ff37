"""What a request costs: the answer to a message, and what we add to the model's first token.

The model has no delay. What it takes itself is measured by asking it directly, with the same
request, in turn with the requests to Sophos; the difference of the medians is what we add. It
includes a connection for the message and one for the stream.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import httpx
from measuring import Figure, main, timed

from lab.bench import Bench
from lab.client import Client
from lab.model.script import say

REQUESTS = 50  # for one sample of each figure


def measure(samples: int) -> Sequence[Figure]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Bench("requests", model="scripted", root=Path(folder)) as bench,
        httpx.Client(trust_env=False) as http,
    ):
        (bench.workspace.config / "mcp.json").write_text(
            json.dumps({"mcpServers": {}}), encoding="utf-8"
        )
        client = bench.client
        client.wait(client.start("Warm up").run)
        accepted: list[float] = []
        worst: list[float] = []
        added: list[float] = []
        for _ in range(samples):
            posts: list[float] = []
            ours: list[float] = []
            direct: list[float] = []
            bench.model.script([say("one two three")] * REQUESTS * 2)
            for _ in range(REQUESTS):
                _first_token(client, posts, ours)
                _ask_directly(http, bench, direct)
            accepted.append(median(posts))
            worst.append(max(posts))
            added.append(median(ours) - median(direct))
            bench.model.forget_requests()
        bench.model.close()
        return [
            Figure(what=f"POST → 202, median of {REQUESTS}", unit="ms", samples=accepted),
            Figure(what=f"POST → 202, slowest of {REQUESTS}", unit="ms", samples=worst),
            Figure(what="added to the first token", unit="ms", samples=added),
        ]


def _first_token(client: Client, posts: list[float], ours: list[float]) -> None:
    began = time.perf_counter()
    with timed(posts, unit=1000):
        started = client.start("Count")
    with client.stream(started.conversation, run=started.run) as stream:
        for event in stream:
            if event.name == "token":
                ours.append((time.perf_counter() - began) * 1000)
                break
        for _ in stream:
            pass


def _ask_directly(http: httpx.Client, bench: Bench, direct: list[float]) -> None:
    body = bench.model.requests()[-1]["body"]
    began = time.perf_counter()
    with http.stream("POST", f"{bench.model.url}/api/chat", json=body) as answer:
        lines = answer.iter_lines()
        next(lines)
        direct.append((time.perf_counter() - began) * 1000)
        for _ in lines:
            pass


if __name__ == "__main__":
    main(measure, __doc__ or "")
