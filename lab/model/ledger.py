"""Every request the model received, and what became of its answer.

It dies with the process. With a log file, each line is written and flushed as it happens, so the
file tells as much after the process is gone.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.model.bell import Bell

BODIES_LIMIT: Final = 64 * 1024 * 1024  # bytes; beyond it the oldest bodies are forgotten
SAME_REQUEST: Final = ("model", "messages", "tools", "think", "format", "options")
"""The fields that make two requests the same to a model."""


@dataclass(kw_only=True)
class Received:
    """One request: `number` counts from 1, `sample` is how often the same was asked before.

    `ended` is done, cut, failed, client gone or stopped; None while the answer is on its way.
    Times are seconds since the epoch. `dropped` is how many messages did not fit into the context.
    """

    number: int
    sample: int
    body: bytes | None
    received_at: float
    answered_by: str = "understanding"
    dropped: int = 0
    tokens: int = 0
    ended: str | None = None
    ended_at: float | None = None

    def as_json(self) -> dict[str, Any]:
        body = None if self.body is None else json.loads(self.body)
        return {**vars(self), "body": body}


class Ledger:
    """Requests in the order they came. Numbers and samples go on after `clear`."""

    def __init__(self, log: Path | None = None) -> None:
        self.requests: list[Received] = []
        self.changed = Bell()
        self._asked = Counter[bytes]()
        self._count = 0
        self._bodies_kept_from = 0  # an index into `requests`
        self._bodies_size = 0  # bytes
        # One line a write: every line is in the file, whenever the process is killed.
        self._log = log.open("a", encoding="utf-8", buffering=1) if log is not None else None

    def receive(self, body: bytes, request: Mapping[str, Any]) -> Received:
        identity = _identity(request)
        self._count += 1
        entry = Received(
            number=self._count,
            sample=self._asked[identity],
            body=body,
            received_at=time.time(),
        )
        self._asked[identity] += 1
        self.requests.append(entry)
        self._bodies_size += len(body)
        self._forget_oldest_bodies()
        self._write("received", entry.received_at, number=entry.number, body=request)
        self.changed.ring()
        return entry

    def end(self, entry: Received, how: str) -> None:
        """Record how an answer ended. The first time counts."""
        if entry.ended is not None:
            return
        entry.ended = how
        entry.ended_at = time.time()
        self._write("ended", entry.ended_at, number=entry.number, how=how, tokens=entry.tokens)
        self.changed.ring()

    def find(self, number: int) -> Received | None:
        return next((entry for entry in self.requests if entry.number == number), None)

    def clear(self) -> None:
        self.requests.clear()
        self._bodies_kept_from = 0
        self._bodies_size = 0

    def _forget_oldest_bodies(self) -> None:
        while self._bodies_size > BODIES_LIMIT:
            oldest = self.requests[self._bodies_kept_from]
            self._bodies_size -= len(oldest.body or b"")
            oldest.body = None
            self._bodies_kept_from += 1

    def _write(self, event: str, at: float, **details: Any) -> None:
        if self._log is not None:
            line = {"event": event, "at": at, **details}
            self._log.write(json.dumps(line, ensure_ascii=False) + "\n")


def _identity(request: Mapping[str, Any]) -> bytes:
    """The same for two requests that a model could not tell apart: call ids do not count."""
    seen = {field: request.get(field) for field in SAME_REQUEST}
    if isinstance(seen["messages"], list):
        seen["messages"] = [_without_ids(message) for message in seen["messages"]]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).digest()


def _without_ids(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    calls = message.get("tool_calls")
    plain = {name: value for name, value in message.items() if name != "tool_call_id"}
    if isinstance(calls, list):
        plain["tool_calls"] = [call.get("function") for call in calls if isinstance(call, dict)]
    return plain
