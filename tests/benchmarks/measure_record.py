"""What a large record costs: 100,000 runs of 10,000 conversations, some of a dead process.

Recovery is timed inside one process, from the open record to the last run reconciled; the start and
the first page of the list over HTTP, as a page asks for it. What recovery turned into `interrupted`
is put back to `running` before each sample.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import httpx
from measuring import Figure, main, timed

from lab.bench import Bench
from sophos.protections import Protections
from sophos.runtime.recovery import recover
from sophos.storage.record import open_record

CONVERSATIONS: Final = 10_000
RUNS_EACH: Final = 10
LEFT: Final = 10  # runs that a dead process left `running`
BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_CONVERSATION: Final = "INSERT INTO conversations VALUES (?, ?, ?, ?, 2, NULL, 1)"
_RUN: Final = """
INSERT INTO runs (id, conversation_id, kind, input, status, owner, attempt, started_at, finished_at)
VALUES (?, ?, 'message', 'Hello', 'completed', 'one', 1, ?, ?)
"""
_LEFT: Final = f"""
UPDATE runs SET status = 'running', finished_at = NULL, error_code = NULL, error_message = NULL
WHERE sequence IN (SELECT max(sequence) FROM runs GROUP BY conversation_id ORDER BY 1 LIMIT {LEFT})
"""


def measure(samples: int) -> Sequence[Figure]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Bench("record", model="scripted", root=Path(folder)) as bench,
    ):
        empty = _starts(bench, samples, left=False)
        bench.sophos.stop()
        _fill(bench.workspace.database)
        recovered = [_recovery(bench.workspace.database) for _ in range(samples)]
        large = _starts(bench, samples, left=True)
        return [
            Figure(
                what=f"recovery, {CONVERSATIONS * RUNS_EACH:,} runs", unit="ms", samples=recovered
            ),
            Figure(what="start → ready, an empty record", unit="s", samples=empty),
            Figure(what="start → ready, that record", unit="s", samples=large),
            *_lists(bench, samples),
        ]


def _starts(bench: Bench, samples: int, *, left: bool) -> list[float]:
    times: list[float] = []
    bench.sophos.start()
    for _ in range(samples):
        bench.sophos.stop()
        if left:
            _leave(bench.workspace.database)
        with timed(times):
            bench.sophos.start()
    return times


def _lists(bench: Bench, samples: int) -> Sequence[Figure]:
    first: list[float] = []
    url = f"{bench.sophos.url}/api/conversations"
    with httpx.Client(trust_env=False, verify=False) as http:
        http.get(url).raise_for_status()
        for _ in range(samples):
            with timed(first, unit=1000):
                http.get(url).raise_for_status()
    what = f"first page of {CONVERSATIONS:,} conversations"
    return [Figure(what=what, unit="ms", samples=first)]


def _recovery(database: Path) -> float:
    _leave(database)
    return asyncio.run(_recovered(database))


async def _recovered(database: Path) -> float:
    protections = Protections()
    async with open_record(database, owner=uuid.uuid4().hex, protections=protections) as record:
        began = time.perf_counter()
        done = await recover(record, protections=protections, now=_at(1_000_000))
        passed = (time.perf_counter() - began) * 1000
    assert done.interrupted == LEFT, done
    return passed


def _fill(database: Path) -> None:
    ids = [str(uuid.uuid4()) for _ in range(CONVERSATIONS)]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            _CONVERSATION, ((id_, f"Title {n}", _at(n), _at(n)) for n, id_ in enumerate(ids))
        )
        connection.executemany(_RUN, _runs(ids))


def _runs(conversations: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for n in range(RUNS_EACH):
        for m, conversation in enumerate(conversations):
            at = _at(n * CONVERSATIONS + m)
            yield str(uuid.uuid4()), conversation, at, at


def _leave(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(_LEFT)


def _at(seconds: int) -> str:
    return (BEGAN + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


if __name__ == "__main__":
    main(measure, __doc__ or "")
