"""What the failpoints cost where none is armed: one attribute that is read, at each pass.

The loop itself is measured beside it, in turn, and taken off. For the scale: a piece of a reply
takes some microseconds of ours at the least, and passes one point.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from measuring import Figure, main

from sophos.failpoints import Failpoints, Point, parse_failpoints

PASSES = 1_000_000  # for one sample of each figure


def measure(samples: int) -> Sequence[Figure]:
    unarmed = Failpoints()
    armed = Failpoints(parse_failpoints("tool.returned=kill"))
    without: list[float] = []
    with_one: list[float] = []
    for _ in range(samples):
        nothing = _nanoseconds(_loop)
        without.append(_nanoseconds(lambda: _pass(unarmed)) - nothing)
        with_one.append(_nanoseconds(lambda: _pass(armed)) - nothing)
    return [
        Figure(what="a pass with no failpoint armed", unit="ns", samples=without),
        Figure(what="a pass with another point armed", unit="ns", samples=with_one),
    ]


def _nanoseconds(work: Callable[[], None]) -> float:
    """For one round of its loop."""
    began = time.process_time_ns()
    work()
    return (time.process_time_ns() - began) / PASSES


def _loop() -> None:
    for _ in range(PASSES):
        pass


def _pass(failpoints: Failpoints) -> None:
    for count in range(PASSES):
        if failpoints.armed:
            failpoints.hit(Point.AGENT_STREAMING, "answer", count)


if __name__ == "__main__":
    main(measure, __doc__ or "")
