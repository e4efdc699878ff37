"""Twelve pieces of a run's state: where each is, and whether it is there at this moment.

What a crash does to one follows from three looks: while the run works, while the process is dead,
and after another process has finished the work. Nothing is kept here. A dead server is not asked;
a live one is asked only for what it alone can know.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd
from langchain_core.messages import ToolMessage

from lab.snapshot import snapshot

if TYPE_CHECKING:
    from lab.bench import Bench
    from lab.client import Started
    from lab.stream import EventStream

SURVIVES: Final = "survives"
DIES: Final = "dies"
REBUILT: Final = "is rebuilt"
FATES: Final = (SURVIVES, DIES, REBUILT)
_INPUT: Final = "SELECT input FROM runs WHERE id = ?"
_PIECES: Final = {
    "the message you sent": "sophos.db: runs",
    "the run, with its status": "sophos.db: runs",
    "the steps it finished": "sophos.db: checkpoints",
    "the page it had fetched": "sophos.db: writes",
    "the fact it had saved": "memory.jsonl",
    "the site's count of its visit": "ledger of the site",
    "the answer's pieces so far": "memory of the process",
    "the task that drives the run": "memory of the process",
    "your connection": "a socket",
    "the tool servers": "processes",
    "the address it serves at": "a socket",
    "the claim to the file": "a lock",
}
PIECES: Final = tuple(_PIECES)


def look(bench: Bench, started: Started, stream: EventStream) -> pd.DataFrame:
    """One row a piece: `piece`, `where`, `there`. `stream` is the viewer's of the run `started`."""
    found = list(_found(bench, started, stream))
    rows = zip(_PIECES.items(), found, strict=True)
    return pd.DataFrame(
        [{"piece": piece, "where": where, "there": there} for (piece, where), there in rows]
    )


def fates(before: pd.DataFrame, dead: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The three looks side by side, and what they say: `fate`, empty for what was never there."""
    frame = before[["piece", "where"]].assign(
        before=before["there"], dead=dead["there"], after=after["there"]
    )
    looks = zip(frame["before"], frame["dead"], frame["after"], strict=True)
    return frame.assign(fate=[_fate(looked) for looked in looks])


def _fate(looked: Sequence[bool]) -> str:
    was, dead, after = looked
    if not was:
        return ""
    return SURVIVES if dead else REBUILT if after else DIES


def _found(bench: Bench, started: Started, stream: EventStream) -> Iterator[bool]:
    """In the order of the pieces."""
    tables, alive = bench.tables, bench.sophos.state == "running"
    with snapshot(bench.workspace.database) as read:
        yield any(row["input"] for row in read("runs", _INPUT, started.run))
    runs = tables.runs(started.conversation, raw=True)
    yield started.run in set(runs["id"])
    thread = tables.thread(started.conversation)
    yield any(saved.run == started.run and saved.messages for saved in thread.checkpoints)
    newest = thread.states[-1] if thread.states else ()
    yield any(isinstance(message, ToolMessage) and message.text for message in newest)
    yield not tables.memory().empty
    yield not tables.visits().empty
    yield alive and _replays(bench, started)
    yield alive and bench.client.read(started.conversation)["active_run"] == started.run
    yield stream.closed_by is None
    yield any(role.startswith("mcp") for role in tables.processes()["role"])
    listening = tables.sockets().query("socket == 'listens'")["process"]
    yield bench.sophos.process.label in set(listening)
    yield _locked(bench.workspace.database)


def _replays(bench: Bench, started: Started) -> bool:
    """Whether another viewer would be told what the run said so far."""
    with bench.client.stream(started.conversation, started.run) as another:
        return any(event.name == "token" for event in another)


if sys.platform == "win32":

    def _locked(database: Path) -> bool:
        """There, a locked byte refuses whoever would read it; nothing else is asked for."""
        import msvcrt  # noqa: PLC0415 - of this system alone

        with _lock_file(database).open("rb+") as file:
            file.seek(1 << 30)
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            except OSError:
                return True
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
            return False
else:
    import fcntl

    def _locked(database: Path) -> bool:
        """Whether somebody holds the file: tried, and let go at once."""
        file = os.open(_lock_file(database), os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False


def _lock_file(database: Path) -> Path:
    return database.with_name(database.name + ".lock")
