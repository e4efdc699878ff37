"""Waiting for facts: a file that is there, a process that is gone, a row that is written.

Nothing in the lab waits for an amount of time. A wait ends when its fact is seen, or says which
fact it did not see.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

LOOK_EVERY: Final = 0.005  # seconds between two looks

Fact = TypeVar("Fact")


class NotSeen(AssertionError):
    """A fact that was waited for did not come within its bound."""


def until(
    look: Callable[[], Fact | None],
    *,
    what: str,
    seconds: float = 30.0,
    details: Callable[[], str] = str,
) -> Fact:
    """The first truthy value that `look` returns; raises NotSeen with `what` and `details()`."""
    end = time.monotonic() + seconds
    while True:
        # The last look comes after the bound: a machine that slept must not turn into a fault.
        late = time.monotonic() > end
        if fact := look():
            return fact
        if late:
            raise NotSeen(f"Not seen within {seconds:g} s: {what}.{details()}")
        time.sleep(LOOK_EVERY)
