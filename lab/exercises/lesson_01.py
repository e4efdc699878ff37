"""Own the process: which tool server a run may do without."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from lab.check import Verdict, check
from lab.exercise import Exercise

_MEMORY: Final = "mcp memory"
_CLAIM: Final = "the run completes while the Memory server cannot start"


def _does_without(
    extra: Mapping[str, Any], status: str | None, running: Collection[str]
) -> Verdict:
    """`status` is the run's, None before it; `running` are the tool servers alive after it."""
    faults = [] if status in {None, "completed"} else [f"with {extra}, the run is {status}"]
    if _MEMORY in running:
        faults.append(f"with {extra}, {_MEMORY} runs: it was repaired, not done without")
    return check(
        _CLAIM,
        faults=faults,
        seen=f"with {extra}: {status}; alive: {', '.join(sorted(running)) or 'none'}",
        missing=[] if status else ["a run with this entry"],
    )


EXERCISES: Final = (
    Exercise(
        name="01-1",
        claim=_CLAIM,
        judge=_does_without,
        hints=(
            "The run failed because every server in mcp.json is needed, unless its entry says not.",
            "The docstring of sophos/tools/servers.py lists what each entry may have.",
            "One of these keys is a word for what one can do without. Its value is True.",
        ),
    ),
)
