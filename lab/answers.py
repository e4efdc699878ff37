"""The lab's own small database of predictions: what was asked, what was answered, what was seen.

Durable: all of it, in data/lab/predictions.db or where SOPHOS_LAB_PREDICTIONS says. Nothing is
ever overwritten: an answer that comes after the outcome was shown stands beside the earlier one,
and says that it is late.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from lab.workspace import ROOT

PATH_VARIABLE: Final = "SOPHOS_LAB_PREDICTIONS"
WAIT_FOR_OTHERS: Final = 10.0  # seconds for another notebook that is writing
_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS questions (
        name TEXT NOT NULL PRIMARY KEY, question TEXT NOT NULL, asked_at TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS answers (
        number INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, answer TEXT NOT NULL,
        reason TEXT NOT NULL, late INTEGER NOT NULL, answered_at TEXT NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS observations (
        name TEXT NOT NULL PRIMARY KEY, seen TEXT NOT NULL, first_seen_at TEXT NOT NULL
    ) STRICT;
"""
_ALL: Final = """
    SELECT questions.name, question, answer, reason, late, seen
    FROM questions LEFT JOIN observations USING (name) LEFT JOIN answers ON number = (
        -- What was said before the outcome counts; a late answer only if there is no other.
        SELECT number FROM answers WHERE answers.name = questions.name
        ORDER BY late, number DESC LIMIT 1
    ) ORDER BY questions.name
"""


class AnswersUnusable(RuntimeError):
    """The file of predictions cannot be used. Make it writable, or name another one."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A question with its answer; `answer` and `seen` are None while there is none."""

    name: str
    question: str
    answer: str | None = None
    reason: str = ""
    late: bool = False
    """Whether the answer came after the outcome was shown."""
    seen: str | None = None


class Answers:
    """One file. Each call opens it and closes it: notebooks share it."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(os.environ.get(PATH_VARIABLE) or ROOT / "predictions.db")

    def ask(self, name: str, question: str) -> None:
        """Put the question on record, not answered; asked again, the answer it has stays."""
        with self._open() as connection:
            connection.execute(
                "INSERT INTO questions VALUES (?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET question = excluded.question",
                (name, question, _now()),
            )

    def answer(self, name: str, answer: str, reason: str = "") -> Prediction:
        """Keep an answer, and say what is on record now."""
        with self._open() as connection:
            connection.execute(
                "INSERT INTO answers (name, answer, reason, late, answered_at)"
                " VALUES (?, ?, ?, EXISTS (SELECT 1 FROM observations WHERE name = ?), ?)",
                (name, answer, reason, name, _now()),
            )
        return self.find(name)

    def observe(self, name: str, seen: str) -> None:
        """Keep what was seen. From now on an answer is late."""
        with self._open() as connection:
            connection.execute(
                "INSERT INTO observations VALUES (?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET seen = excluded.seen",
                (name, seen, _now()),
            )

    def find(self, name: str) -> Prediction:
        """What is on record under this name; a question that was never asked is empty."""
        known = (prediction for prediction in self.all() if prediction.name == name)
        return next(known, Prediction(name=name, question=""))

    def all(self) -> Sequence[Prediction]:
        """Every question that was asked, in the order of the ids."""
        with self._open() as connection:
            rows = connection.execute(_ALL).fetchall()
        return [
            Prediction(
                name=row["name"],
                question=row["question"],
                answer=row["answer"],
                reason=row["reason"] or "",
                late=bool(row["late"]),
                seen=row["seen"],
            )
            for row in rows
        ]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=WAIT_FOR_OTHERS)) as connection:
                connection.row_factory = sqlite3.Row
                connection.executescript(_TABLES)
                with connection:
                    yield connection
        except (OSError, sqlite3.Error) as error:
            raise AnswersUnusable(
                f"Predictions cannot be kept in {self.path} ({error}). Make the file writable,"
                f" move it away, or set {PATH_VARIABLE} to another path and restart the kernel."
            ) from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
