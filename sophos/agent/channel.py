"""How a thread's messages are kept: as what each step added, or as a full copy at each step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, TypedDict

from langchain_core.messages import BaseMessage
from langgraph.channels.delta import DeltaChannel

# A full copy is made when this many updates have come since the last one. A copy every so many
# updates is growth with the square again, only slower, so it is made practically never; the
# library makes one itself after 5,000 steps (docs/decisions/0003).
SNAPSHOT_FREQUENCY: Final = 1_000_000  # updates


def merged(state: Sequence[BaseMessage], writes: Iterable[Any]) -> list[BaseMessage]:
    """The messages after the writes: a message whose id is known replaces the old one in place.

    Adding writes one by one or all at once gives the same, as DeltaChannel needs.
    """
    messages = list(state)
    places = {message.id: place for place, message in enumerate(messages)}
    for write in writes:
        for message in write if isinstance(write, list) else [write]:
            place = places.get(message.id)
            if place is None:
                places[message.id] = len(messages)
                messages.append(message)
            else:
                messages[place] = message
    return messages


def _added(state: list[BaseMessage], update: list[BaseMessage]) -> list[BaseMessage]:
    return merged(state, [update])


class DeltaThread(TypedDict):
    """Each checkpoint keeps what its step added: a thread grows with its messages."""

    messages: Annotated[
        list[BaseMessage], DeltaChannel(merged, snapshot_frequency=SNAPSHOT_FREQUENCY)
    ]


class FullThread(TypedDict):
    """Each checkpoint keeps every message: a thread grows with the square of its messages."""

    messages: Annotated[list[BaseMessage], _added]
