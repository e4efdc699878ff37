"""How long each process lived, when it stood frozen, when it was seen to end, and how.

Durable: one line per start, freeze, thaw and end, in a file beside the processes' records. Their
owner writes it; an end and a freeze when it sees them, so what happens unseen is not there until
somebody looks.
"""

from __future__ import annotations

import json
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.tree import read_records

_LIVES: Final = "lives.jsonl"


@dataclass(frozen=True, kw_only=True)
class Life:
    """One start of a process. Times are seconds since the epoch; `ended` is None if not seen."""

    name: str
    label: str
    began: float
    ended: float | None
    status: int | None
    """As `Process.exit_status`: minus the number of the signal that ended it, if one did."""
    frozen: tuple[tuple[float, float | None], ...] = ()
    """From when to when it stood frozen (SIGSTOP): until it was thawed, or ended, or None yet."""

    @property
    def was_killed(self) -> bool:
        return self.status is not None and self.status < 0

    @property
    def end(self) -> str:
        """How it ended, in words; "" while that was not seen."""
        match self.status:
            case None:
                return ""
            case 0:
                return "stopped"
            case number if number < 0:
                return "killed" if -number == signal.SIGKILL else f"ended by signal {-number}"
            case number:
                return f"ended with status {number}"


def note_start(directory: Path, label: str) -> None:
    """Write down that a process is about to be started."""
    _note(directory, process=label, event="start", at=time.time())


def note_frozen(directory: Path, label: str) -> None:
    """Write down that a process is seen to stand frozen. While it stands, the first line counts."""
    _note(directory, process=label, event="frozen", at=time.time())


def note_thaw(directory: Path, label: str) -> None:
    """Write down that a process is let go on."""
    _note(directory, process=label, event="thaw", at=time.time())


def note_end(directory: Path, label: str, status: int) -> None:
    """Write down that a process was seen to have ended. Of several lines the first counts."""
    _note(directory, process=label, event="end", at=time.time(), status=status)


def read_lives(directory: Path) -> list[Life]:
    """Every start on record there, in the order of name and start."""
    noted: dict[tuple[str, str], dict[str, Any]] = {}
    frozen: dict[str, list[tuple[float, float | None]]] = {}
    path = directory / _LIVES
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        noted.setdefault((row["process"], row["event"]), row)
        _freeze(frozen.setdefault(row["process"], []), row)
    return [
        Life(
            name=record.name,
            label=record.label,
            # The system's own time of creation may be a second off.
            began=noted.get((record.label, "start"), {}).get("at", record.created),
            ended=noted.get((record.label, "end"), {}).get("at"),
            status=noted.get((record.label, "end"), {}).get("status"),
            frozen=tuple(frozen.get(record.label, ())),
        )
        for record in read_records(directory)
    ]


def _freeze(spans: list[tuple[float, float | None]], row: dict[str, Any]) -> None:
    """Begin a span, or close the one that is open."""
    stands = bool(spans) and spans[-1][1] is None
    if row["event"] == "frozen" and not stands:
        spans.append((row["at"], None))
    elif row["event"] in {"thaw", "end"} and stands:
        spans[-1] = (spans[-1][0], row["at"])


def _note(directory: Path, **facts: Any) -> None:
    with (directory / _LIVES).open("a", encoding="utf-8") as file:
        file.write(json.dumps(facts) + "\n")
