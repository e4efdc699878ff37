"""How long a start takes, and how soon a killed server's run goes on.

The times include the start of the interpreter. `healthz` is asked every 5 ms from the moment the
process is started; the first new event of a resume is read from its stream, over HTTP.
"""

from __future__ import annotations

import json
import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
from measuring import Figure, main, timed

from lab.bench import Bench
from lab.client import Client
from lab.model.script import say


def measure(samples: int) -> Sequence[Figure]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Bench("start", model="scripted", root=Path(folder)) as bench,
        httpx.Client(trust_env=False, verify=False) as http,
    ):
        bench.up()
        try:
            return [*_starts(bench, http, samples), *_resumes(bench, samples)]
        finally:
            bench.model.close()


def _starts(bench: Bench, http: httpx.Client, samples: int) -> Sequence[Figure]:
    healthy: list[float] = []
    ready: list[float] = []
    for _ in range(samples):
        bench.sophos.stop()
        port = _free_port()
        with timed(ready):
            with timed(healthy):
                bench.sophos.launch(port=port)
                while not _answers(http, f"http://127.0.0.1:{port}/api/healthz"):
                    time.sleep(0.005)
            bench.sophos.process.wait_ready()
    return [
        Figure(what="start → healthz answers", unit="s", samples=healthy),
        Figure(what="start → ready file", unit="s", samples=ready),
    ]


def _resumes(bench: Bench, samples: int) -> Sequence[Figure]:
    began: list[float] = []
    spoke: list[float] = []
    # The tool servers are those of the project; without them is what the runtime itself takes.
    without: list[float] = []
    configuration = bench.workspace.config / "mcp.json"
    servers = configuration.read_text(encoding="utf-8")
    for _ in range(samples):
        _resume(bench, began, spoke)
    configuration.write_text(json.dumps({"mcpServers": {}}), encoding="utf-8")
    for _ in range(samples):
        _resume(bench, [], without)
    configuration.write_text(servers, encoding="utf-8")
    return [
        Figure(what="SIGKILL → resumed run's first event (trace resume)", unit="s", samples=began),
        Figure(what="SIGKILL → resumed run's first token", unit="s", samples=spoke),
        Figure(what="the same, no tool servers", unit="s", samples=without),
    ]


def _resume(bench: Bench, began: list[float], spoke: list[float]) -> None:
    client = bench.client if bench.sophos.state == "running" else _started(bench)
    bench.model.script([say("one two three four five six")])
    bench.model.hold(2)
    started = client.start("Count")
    bench.model.wait_held()
    start = time.perf_counter()
    bench.sophos.kill()
    bench.model.release()
    bench.sophos.start()
    bench.model.script([say("one two three four five six")])
    resumed = client.resume(started.conversation)
    with client.stream(started.conversation, run=resumed.run) as stream:
        for event in stream:
            if event.id == f"{resumed.run}:1":
                began.append(time.perf_counter() - start)
            if event.name == "token":
                spoke.append(time.perf_counter() - start)
                break
    client.wait(resumed.run)


def _started(bench: Bench) -> Client:
    bench.sophos.start()
    return bench.client


def _answers(http: httpx.Client, url: str) -> bool:
    try:
        return http.get(url).is_success
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main(measure, __doc__ or "")
