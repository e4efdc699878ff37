"""The event stream format of the HTML standard, parsed from bytes as they come.

Holds an unfinished line and an unfinished event between two chunks. Both die with the connection:
by the standard, an event without its empty line at the end was never sent.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

LINE_END: Final = re.compile("\r\n|\n|\r")


@dataclass(frozen=True, kw_only=True)
class ServerSentEvent:
    """`id` is the event's own, None if it has none; `Parser.last_id` is what sticks."""

    name: str
    data: str
    id: str | None


class Parser:
    """Feed it bytes in any portions; it yields the events they complete."""

    def __init__(self) -> None:
        self.last_id = ""
        """What a client sends as Last-Event-ID when it comes back."""
        self.retry: int | None = None
        """Milliseconds the server asks a client to wait before it comes back."""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._line = ""
        self._after_cr = False
        self._at_start = True
        self._name = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        for line in self._lines(self._decoder.decode(chunk)):
            if (event := self._take(line)) is not None:
                yield event

    def _lines(self, text: str) -> Iterator[str]:
        if not text:
            return
        if self._at_start:
            self._at_start = False
            text = text.removeprefix("\ufeff")
        if self._after_cr:
            text = text.removeprefix("\n")
            self._after_cr = False
        # Only LF, CRLF and CR end a line; str.splitlines knows eight more.
        *lines, rest = LINE_END.split(text)
        for line in lines:
            whole, self._line = self._line + line, ""
            yield whole
        self._line += rest
        # A CR at the end has ended its line already; an LF that follows belongs to it.
        self._after_cr = text.endswith("\r")

    def _take(self, line: str) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match field:
            case "event":
                self._name = value
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdigit():
                self.retry = int(value)
            case _:
                pass  # a comment (the field before its colon is empty), or a field of a later standard
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        name, data, own_id = self._name, self._data, self._id
        self._name, self._data, self._id = "", [], None
        if own_id is not None:
            self.last_id = own_id
        if not data:
            return None
        return ServerSentEvent(name=name or "message", data="\n".join(data), id=own_id)
