"""Whether saving kept up with doing, as a run's own stream tells it: a check that can fail.

As in lab/promises.py, it takes plain values and is *unknown* without evidence.
"""

from __future__ import annotations

from collections.abc import Sequence

from lab.check import Verdict, check, counted
from lab.stream import StreamEvent


def saved_first(told: Sequence[StreamEvent], run: str = "the run") -> Verdict:
    """No step of a run began before the step before it was on disk.

    `told` are the run's events, in order. A step is told to have begun by `enter`, and to be on
    disk by `leave`, which is never told earlier (sophos/agent/translate.py).
    """
    began: list[int] = []
    saved: set[int] = set()
    faults = []
    for event in told:
        if event.name != "trace":
            continue
        step, node = event.data["step"], event.data["node"]
        if event.data["event"] == "leave":
            saved.add(step)
        elif event.data["event"] == "enter" and step not in began:
            if began and began[-1] not in saved:
                faults.append(
                    f"{run}: step {step} ({node}) began, and step {began[-1]} was not saved"
                )
            began.append(step)
    return check(
        "a step begins when the one before it is saved",
        faults=faults,
        seen=f"{run}: {counted(len(began), 'step')}",
        missing=[] if len(began) > 1 else [f"{run}: two steps that a viewer was told of"],
    )
