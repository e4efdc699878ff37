"""Streaming is not persistence: a screen that tells nothing twice after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lab.check import Verdict, check
from lab.exercise import Exercise
from lab.screen import screen_agrees
from lab.stream import StreamEvent

_CLAIM: Final = "the reader shows what is on record, and nothing twice"
_SAVED: Final = "That was saved before the kill. "

Reader = Callable[[Sequence[StreamEvent]], object]  # a learner's: it may give anything


def _shows_the_record(
    screen: Reader,
    events: Sequence[StreamEvent],
    messages: Sequence[Mapping[str, Any]] | None,
) -> Verdict:
    """`events` are what a cut run and its resume told, one after the other; `messages` the record."""
    tokens = [event for event in events if event.name == "token"]
    resumed = any(event.data.get("event") == "resume" for event in events)
    missing = [] if tokens and resumed else ["the events of a cut run and of its resume"]
    if messages is None or not messages:
        missing.append("the record of the conversation")
    if missing:
        return check(_CLAIM, missing=missing)
    shown = screen(list(events))
    if not isinstance(shown, str):
        return check(_CLAIM, faults=[f"the reader gave {type(shown).__name__}, not a text"])
    verdict = screen_agrees(shown, messages)
    faults = list(verdict.findings) if not verdict.holds else []
    if not faults and screen([_other(event) for event in events]) != shown.swapcase():
        faults.append("of other pieces the reader does not make another text: it did not read them")
    if not faults and str(screen(_with_a_saved_step(events))).split() != (_SAVED + shown).split():
        faults.append(
            "had the cut run saved a step before that one, with words in it, the reader would not "
            "show them: a resume does again what was not saved, and tells nothing else"
        )
    return check(_CLAIM, faults=faults, seen=verdict.findings[0])


def _other(event: StreamEvent) -> StreamEvent:
    """The same event with another text, if it has one: who knows the answer already, shows."""
    if event.name != "token":
        return event
    return replace(event, data=event.data | {"text": event.data["text"].swapcase()})


def _with_a_saved_step(events: Sequence[StreamEvent]) -> list[StreamEvent]:
    """The same, two steps later: the run's first reply had words, asked for a tool, and was saved."""
    steps = [event.data["step"] for event in events if "step" in event.data]
    data = {"text": _SAVED, "kind": "answer", "step": min(steps), "message_id": "saved"}
    later = [
        replace(event, data=event.data | {"step": event.data["step"] + 2})
        if "step" in event.data
        else event
        for event in events
    ]
    return [StreamEvent(name="token", data=data, id=None), *later]


EXERCISES: Final = (
    Exercise(
        name="04-1",
        claim=_CLAIM,
        judge=_shows_the_record,
        hints=(
            "Print the events that are no tokens. One of them says where the resume begins.",
            "Each piece has a `step`. What was told for the resumed step is told once more.",
            "At the `resume` event, keep the pieces whose step is smaller than the event's step.",
        ),
    ),
)
