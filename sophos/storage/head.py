"""A thread's newest checkpoint, and what any checkpoint must look like to be read as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

_BRANCH: Final = "branch:to:"
_START: Final = "__start__"
_TASKS: Final = "__pregel_tasks"
_FIELDS: Final[Mapping[str, type]] = {
    "id": str,
    "ts": str,
    "channel_values": dict,
    "channel_versions": dict,
    "versions_seen": dict,
}
_METADATA: Final[Mapping[str, type]] = {"step": int, "source": str, "run_id": str}


@dataclass(frozen=True, kw_only=True)
class Head:
    """A thread's newest checkpoint: whose it is and which nodes are pending on it.

    `next` is right in the window where every task of a step has its writes and the step's
    checkpoint is missing; LangGraph's `StateSnapshot.next` is empty there.
    """

    checkpoint_id: str
    step: int
    source: str
    run: str | None
    next: tuple[str, ...]


def head_of(found: CheckpointTuple) -> Head:
    return Head(
        checkpoint_id=found.checkpoint["id"],
        step=found.metadata.get("step", 0),
        source=found.metadata.get("source", "loop"),
        run=found.metadata.get("run_id"),
        next=pending_nodes(found),
    )


def pending_nodes(found: CheckpointTuple) -> tuple[str, ...]:
    """The nodes that are to run on this checkpoint, sorted; a saved, unapplied input is `__start__`.

    A channel that starts a node is in `channel_values` until the step it started is saved.
    """
    values: Mapping[str, Any] = found.checkpoint["channel_values"]
    nodes = {name.removeprefix(_BRANCH) for name in values if name.startswith(_BRANCH)}
    nodes |= {send.node for send in values.get(_TASKS) or ()}
    if _START in values:
        nodes.add(_START)
    return tuple(sorted(nodes))


def well_formed(found: CheckpointTuple) -> CheckpointTuple:
    """The checkpoint; raises TypeError if its bytes were those of another value."""
    for value, fields in ((found.checkpoint, _FIELDS), (found.metadata, _METADATA)):
        if not isinstance(value, dict):
            raise TypeError(f"a checkpoint cannot be a {type(value).__name__}")
        for name, kind in fields.items():
            # Metadata may lack each of them.
            if (name in value or fields is _FIELDS) and not isinstance(value.get(name), kind):
                raise TypeError(f"{name!r} of a checkpoint must be a {kind.__name__}")
    pending_nodes(found)
    return found
