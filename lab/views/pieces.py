"""What became of each piece that was streamed: kept, reasoning, superseded or never durable.

A viewer's copy of the stream against the messages of the record. Neither is asked for here: both
are given, so that the answer can be tried on a planted case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lab.stream import StreamEvent


class Fate(StrEnum):
    KEPT = "kept"
    """It is part of an answer in the record, word for word."""
    REASONING = "reasoning"
    """The message is in the record; what the model thought is no part of its answer."""
    SUPERSEDED = "superseded"
    """A later run did this step again: the record has that run's text."""
    NEVER = "never durable"
    """The step was not saved, and nobody did it again."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One token as it was streamed."""

    step: int
    kind: str
    text: str
    fate: Fate


def pieces(
    shown: Sequence[StreamEvent], record: Mapping[str, str], redone_from: int | None
) -> list[Piece]:
    """`record` is each recorded message's text by its id; `redone_from` a later resume's step."""
    tokens = [event.data for event in shown if event.name == "token"]
    told: dict[str, str] = {}
    for token in tokens:
        if token["kind"] == "answer":
            told[token["message_id"]] = told.get(token["message_id"], "") + token["text"]

    def fate(token: Mapping[str, str]) -> Fate:
        message = token["message_id"]
        if message not in record or record[message] != told.get(message, record[message]):
            redone = redone_from is not None and int(token["step"]) >= redone_from
            return Fate.SUPERSEDED if redone else Fate.NEVER
        return Fate.REASONING if token["kind"] == "reasoning" else Fate.KEPT

    return [
        Piece(step=token["step"], kind=token["kind"], text=token["text"], fate=fate(token))
        for token in tokens
    ]


def redone_from(later: Sequence[Sequence[StreamEvent]]) -> int | None:
    """The lowest step that a later run of the thread began again, by what it told."""
    steps = [
        int(event.data["step"])
        for shown in later
        for event in shown
        if event.name == "trace" and event.data["event"] == "resume"
    ]
    return min(steps, default=None)
