"""Memory is not one thing: forget a word wherever it is kept, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import pandas as pd

from lab.check import Verdict, check
from lab.exercise import Exercise

_CLAIM: Final = "the word is in no file of Sophos or of the Memory server, and the rest is there"
_OURS: Final = ("db/", "memory/")


def _forgets(
    _: Callable[[str], object],
    before: pd.DataFrame | None,
    after: pd.DataFrame | None,
    others: Sequence[str],
    left: Sequence[str],
) -> Verdict:
    """`before` and `after` are the word's copies.

    `others` are the titles of the conversations that had nothing of it, `left` of those that are
    there now. A title may stand for several conversations.
    """
    if before is None or after is None:
        return check(_CLAIM, missing=["the copies before and after"])
    places = {_place(name) for name in before["file"]}
    missing = [f"a copy in {place} before" for place in _OURS if place not in places]
    missing += [] if others else ["a conversation that had nothing of it"]
    faults = [f"{name} still has it" for name in after["file"] if _place(name) in _OURS]
    gone = Counter(others) - Counter(left)
    faults += [
        f"a conversation {title!r} is gone, and had nothing of it" for title in gone.elements()
    ]
    seen = f"conversations without it: {len(others)}, and all of them are there"
    return check(_CLAIM, faults=faults, seen=seen, missing=missing)


def _place(name: str) -> str:
    return name.partition("/")[0] + "/"


EXERCISES: Final = (
    Exercise(
        name="05-1",
        claim=_CLAIM,
        judge=_forgets,
        hints=(
            "A title shows fifty characters of one message. A thread has all of it, and results too.",
            "str(bench.client.read(id)) has every message, its calls and its reasoning.",
            'The graph has another owner: ask for it as above, with Delete the entity "user".',
        ),
    ),
)
