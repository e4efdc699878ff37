"""What a viewer's screen shows, held against the record: after a crash they may differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lab.check import Verdict, check, counted

Messages = Sequence[Mapping[str, Any]]


def screen_agrees(shown: str, messages: Messages | None) -> Verdict:
    """The answer on the screen is the one on record: the last message, if it is an answer.

    `messages` is `client.read(…)["messages"]`, or None if it could not be read.
    """
    last = messages[-1] if messages else None
    number = len(messages or [])
    kept = str(last["content"]) if last and last["role"] == "assistant" else ""
    faults = []
    if last is not None and _words(shown) != _words(kept):
        faults.append(_difference(shown, kept, number, str(last["role"])))
    missing = [] if last is not None else ["a message on record"]
    if last is not None and not shown and not kept:
        missing.append("an answer, on the screen or on record")
    return check(
        "the screen shows the answer that is on record",
        faults=faults,
        seen=f"message {number}: the same {counted(len(_words(kept)), 'word')}",
        missing=missing,
    )


def _difference(shown: str, kept: str, number: int, role: str) -> str:
    words, recorded = _words(shown), _words(kept)
    if not recorded:
        return f"{_shown(words)}, and message {number} ({role}) is no answer"
    if len(words) > len(recorded) and words[-len(recorded) :] == recorded:
        extra = len(words) - len(recorded)
        return f"{counted(extra, 'word stands', 'words stand')} before the answer of message {number} that it does not have"
    return f"{_shown(words)}, message {number} has {len(recorded)}"


def _shown(words: Sequence[str]) -> str:
    return f"{counted(len(words), 'word is', 'words are')} shown"


def _words(text: str) -> list[str]:
    return text.split()
