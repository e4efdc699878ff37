"""Where in a scenario a process can be killed: a rule of `sophos.failpoints` for each pass of a point.

A pass at which another call is on its way to its server is left out: whether that call had its
effect before the kill is a matter of microseconds, and a matrix must come out the same twice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from lab.crash.scenarios import Scenario, words_of
from sophos.failpoints import Point

_AFTER_A_CANCEL: Final = (Point.CANCEL_RECORDED, Point.OUTCOME_RECORDED, Point.END_ANNOUNCED)


def windows(scenario: Scenario, point: Point) -> tuple[str, ...]:
    """The rules that kill at this point, without their action; none where it is never passed."""
    if scenario.cancelled:
        # What comes before the cancel is a stream like another, and what comes after the reply
        # is never reached.
        return (str(point),) if point in _AFTER_A_CANCEL else ()
    replies = range(1, len(scenario.turns) + 1)
    calls = range(1, scenario.calls + 1)
    match point:
        case Point.AGENT_ASKING | Point.AGENT_ANSWERED:
            return _passes(point, replies)
        case Point.AGENT_STREAMING:
            # The first reply's first token is told to nobody if it dies there.
            shortest = min(map(words_of, scenario.turns))
            return tuple(
                f"{point}#{reply}@{count}" for reply in replies for count in range(2, shortest)
            )
        case Point.TOOL_CALLING:
            return _passes(point, calls)
        case Point.TOOL_RETURNED:
            return _passes(point, calls if scenario.apart else calls[:1])
        case Point.TOOL_RECORDED:
            return _passes(point, calls[-1:])
        case Point.STEP_SAVING | Point.STEP_SAVED:
            return tuple(f"{point}({step})" for step in range(-1, scenario.last_step + 1))
        case Point.CANCEL_RECORDED:
            return ()
        case _:
            return (str(point),)


def choose(scenario: Scenario, point: Point, seed: int) -> str | None:
    """One of the windows, by the seed; the same whatever else is run with it."""
    found = windows(scenario, point)
    # Not for secrets: for the same choice twice.
    chance = random.Random(f"{seed} {scenario.name} {point}")  # noqa: S311
    return chance.choice(found) if found else None


def _passes(point: Point, numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"{point}#{number}" for number in numbers)
