"""A run's stream as it goes over the wire: the answer's status, and its frames before any parsing.

    wire(bench, conversation, last_event_id=f"{run}:2", most=1)

Short names stand for the ids of conversations and runs, as in the tables; nothing else is changed.
What is not read is dropped with the connection, which the run does not notice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

import httpx

from lab.bench import Bench

SILENCE: Final = 60.0  # seconds without a byte; a healthy stream pings every 15
_FRAME_END: Final = re.compile(r"\r\n\r\n|\n\n|\r\r")


@dataclass(frozen=True, kw_only=True, repr=False)
class Wire:
    """The head of an answer, and the frames that were read of it, each without its empty line."""

    status: int
    content_type: str
    frames: tuple[str, ...]
    named: Callable[[str], str]
    """Puts short names in place of ids. Asked when it is shown: it reads the database."""

    def __repr__(self) -> str:
        head = f"{self.status} {httpx.codes.get_reason_phrase(self.status)}"
        head += f"\ncontent-type: {self.content_type}" if self.content_type else ""
        return self.named("\n\n".join((head, *self.frames)))


def wire(
    bench: Bench, conversation: str, *, last_event_id: str | None = None, most: int | None = None
) -> Wire:
    """Ask for the stream as a browser does, and read to its end, or at most so many frames."""
    headers = {"Accept": "text/event-stream"}
    headers |= {"Last-Event-ID": last_event_id} if last_event_id is not None else {}
    parameters = {"conversation": conversation}
    with (
        httpx.Client(base_url=bench.sophos.url, timeout=SILENCE, trust_env=False) as client,
        client.stream("GET", "/api/chat", params=parameters, headers=headers) as answer,
    ):
        return Wire(
            status=answer.status_code,
            content_type=answer.headers.get("content-type", ""),
            frames=tuple(islice(_frames(answer.iter_text()), most)),
            named=partial(_named, bench),
        )


def _frames(chunks: Iterator[str]) -> Iterator[str]:
    rest = ""
    for chunk in chunks:
        *whole, rest = _FRAME_END.split(rest + chunk)
        yield from whole


def _named(bench: Bench, text: str) -> str:
    for rows, name in (
        (bench.tables.conversations(raw=True), "conversation"),
        (bench.tables.runs(raw=True), "run"),
    ):
        for row in rows.to_dict("records"):
            text = text.replace(row["id"], row[name])
    return text
