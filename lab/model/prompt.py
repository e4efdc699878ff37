"""A person's text, so that a pattern can tell verbs from what stands in quotes or in an address.

The masked text has the positions of the original, and ends where reading ends. In it every character of a web address is
`URL`, every character between quotation marks is `QUOTED`, and what a goal has claimed is `DONE`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

URL: Final = "\x01"
QUOTED: Final = "\x02"
DONE: Final = "\x00"
NO_MARKS: Final = str.maketrans(dict.fromkeys((URL, QUOTED, DONE), " "))

ADDRESS: Final = re.compile(r"https?://[^\s<>\"'“”`()\[\]]+[^\s<>\"'“”`()\[\].,;:!?]")
QUOTES: Final = re.compile(
    r"\"([^\"\n]+)\"|“([^”\n]+)”|`([^`\n]+)`|(?<![\w])'([^'\n]+(?:'\w[^'\n]*)*)'(?!\w)"
)

READ_AT_MOST: Final = 4_000  # characters of a message; patterns take time with its square

IN_CLAUSE: Final = rf"(?:[^.;!?\n{DONE}]|\.(?=\S))"
VERBS: Final = (
    "fetch|get|read|open|load|visit|download|summari[sz]e|save|store|add|record|write|put|create"
    "|make|list|show|tell|count|say|repeat|call|use|run|remember|delete|remove|forget|search|what"
    "|who|how"
)
REST: Final = (
    rf"(?:(?!\s*,?\s*\b(?:and|then)\s+(?:then\s+)?(?:(?:{VERBS})\b|{DONE})){IN_CLAUSE}){{0,500}}"
)
"""The rest of a clause: up to its end, or to an `and` with another verb after it."""


@dataclass(frozen=True)
class Prompt:
    text: str
    masked: str

    @classmethod
    def read(cls, text: str) -> Prompt:
        plain = text[:READ_AT_MOST].translate(NO_MARKS)
        masked = ADDRESS.sub(lambda found: URL * len(found[0]), plain)
        masked = QUOTES.sub(_mask_quoted, masked)
        return cls(text, masked)

    def without(self, start: int, end: int) -> Prompt:
        masked = self.masked[:start] + DONE * (end - start) + self.masked[end:]
        return Prompt(self.text, masked)


@dataclass(frozen=True)
class Found:
    """Where a pattern matched, with the original words."""

    prompt: Prompt
    match: re.Match[str]

    @property
    def text(self) -> str:
        return self.prompt.text[self.match.start() : self.match.end()].strip()

    def group(self, name: str) -> str | None:
        """The original words of a named group, or None if it has no part in the match."""
        start, end = self.match.span(name)
        return None if start < 0 else self.prompt.text[start:end].strip()

    @property
    def urls(self) -> list[str]:
        return self._runs(URL)

    @property
    def quoted(self) -> list[str]:
        return self._runs(QUOTED)

    def _runs(self, mark: str) -> list[str]:
        runs = re.finditer(f"{mark}+", self.match[0])
        offset = self.match.start()
        return [self.prompt.text[offset + run.start() : offset + run.end()] for run in runs]


def _mask_quoted(found: re.Match[str]) -> str:
    whole = found[0]
    if set(whole[1:-1]) == {URL}:
        return whole
    return whole[0] + QUOTED * (len(whole) - 2) + whole[-1]
