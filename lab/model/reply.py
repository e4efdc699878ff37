"""What the model answers to one request, before it is cut into tokens and sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

WORD: Final = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True)
class Think:
    text: str


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` is an object when the model behaves, and any JSON when it does not."""

    name: str
    arguments: Any


@dataclass(frozen=True)
class Line:
    """A line put into the stream as it is, whether or not it is JSON."""

    text: str


Part = Think | Say | Call | Line


class End(StrEnum):
    DONE = "done"
    """Complete, and said to be."""
    LENGTH = "length"
    """Stopped by a length limit, and said to be."""
    CUT = "cut"
    """The stream ends in good order, but nothing says that the reply is complete."""
    RESET = "reset"
    """The connection breaks."""
    HANG = "hang"
    """Nothing more comes, and the connection stays open."""
    ERROR = "error"
    """An error line, in a stream that began with status 200."""
    FAIL = "fail"
    """An error status instead of a stream."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a reply ends, and after how many tokens; None means after all of them."""

    kind: End = End.DONE
    after: int | None = None
    status: int = 200
    message: str = ""


@dataclass(frozen=True, kw_only=True)
class Reply:
    parts: tuple[Part, ...] = ()
    ending: Ending = Ending()


@dataclass(frozen=True, slots=True)
class Token:
    """One piece as it goes out: a word, a tool call, or a line as it is.

    `message` is the JSON of Ollama's `message` object; None when `line` is the whole line.
    """

    message: str | None
    line: str | None = None


def tokens(reply: Reply, *, think: bool) -> Iterator[Token]:
    """Cut a reply into tokens. Joined again, the words of a text are that text."""
    calls = 0
    for part in reply.parts:
        match part:
            case Think(text):
                for word in WORD.findall(text) if think else ():
                    yield Token(
                        f'{{"role": "assistant", "content": "", "thinking": {json.dumps(word)}}}'
                    )
            case Say(text):
                for word in WORD.findall(text):
                    yield Token(f'{{"role": "assistant", "content": {json.dumps(word)}}}')
            case Call(name, arguments):
                yield Token(_call_message(name, arguments, index=calls))
                calls += 1
            case Line(text):
                yield Token(None, text)


def _call_message(name: str, arguments: Any, *, index: int) -> str:
    function = {"index": index, "name": name, "arguments": arguments}
    call = {"id": f"call_{index}", "function": function}
    return json.dumps({"role": "assistant", "content": "", "tool_calls": [call]})
