"""What a tracing service would get: a real one's client, in a real Sophos, and a collector."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.bench import Bench

SECRET = "Say the word heliotrope."


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench("tracing", model="scripted", tools=(), root=tmp_path) as bench:
        yield bench


def tell(bench: Bench, **settings: object) -> None:
    """One whole run with tracing asked for by the environment."""
    asked = {
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_ENDPOINT": bench.collector.url,
        "LANGSMITH_API_KEY": "none",
    }
    bench.sophos.start(environment=asked, **settings)
    bench.client.wait(bench.client.start(SECRET).run)


def test_a_shell_that_asks_for_tracing_has_nothing_sent(bench: Bench) -> None:
    tell(bench)
    bench.sophos.stop()  # whatever waits to be sent is sent by then
    assert bench.collector.received() == []
    assert "Tracing is asked for and withheld." in bench.sophos.log()


def test_with_leave_to_trace_the_messages_go_out(bench: Bench) -> None:
    tell(bench, tracing=True)
    bench.collector.wait_for("heliotrope")
    assert "withheld" not in bench.sophos.log()
