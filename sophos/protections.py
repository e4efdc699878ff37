"""The protections that can be switched off, one at a time, to see what they are for.

`SOPHOS_PROTECT_<NAME>=off` switches one off. Each is one small branch in the module named here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Protection(StrEnum):
    SYNC_DURABILITY = "SYNC_DURABILITY"
    STEP_WAITS = "STEP_WAITS"
    WRITE_BARRIER = "WRITE_BARRIER"
    CALL_TASKS = "CALL_TASKS"
    IDEMPOTENCY_KEY = "IDEMPOTENCY_KEY"
    HISTORY_REPAIR = "HISTORY_REPAIR"
    RECONCILE = "RECONCILE"
    DRAIN = "DRAIN"
    RECONNECT = "RECONNECT"
    SINGLE_OWNER = "SINGLE_OWNER"
    DELTA_CHECKPOINTS = "DELTA_CHECKPOINTS"
    DONE_CHECK = "DONE_CHECK"
    REPLAY = "REPLAY"
    ERASE = "ERASE"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a protection prevents, how its absence shows, and the module that holds its branch."""

    prevents: str
    absence_shows: str
    module: str


ROWS: Final = {
    Protection.SYNC_DURABILITY: Row(
        prevents="a step starts only after the checkpoint of the one before is on disk",
        absence_shows="steps lost that were already streamed",
        module="sophos/agent/graph.py",
    ),
    Protection.STEP_WAITS: Row(
        prevents="a step waits until the one before is saved; saving is not left to the background",
        absence_shows="effects that no checkpoint knows of, as soon as the disk is slower than the"
        " agent",
        module="sophos/agent/graph.py",
    ),
    Protection.WRITE_BARRIER: Row(
        prevents="a checkpoint is put only after the writes it supersedes are on disk",
        absence_shows="finished tools run again, with full snapshots; with delta checkpoints the"
        " library waits by itself",
        module="sophos/storage/checkpoints.py",
    ),
    Protection.CALL_TASKS: Row(
        prevents="each tool call of a turn is a task of its own",
        absence_shows="one failing call repeats its finished siblings",
        module="sophos/agent/nodes.py",
    ),
    Protection.IDEMPOTENCY_KEY: Row(
        prevents="a tool that takes a key gets the same one whenever the same call is repeated",
        absence_shows="two effects for one call",
        module="sophos/tools/effects.py",
    ),
    Protection.HISTORY_REPAIR: Row(
        prevents="every tool call the model is sent has its answer",
        absence_shows="a model that is sent a tool call with no answer",
        module="sophos/agent/history.py",
    ),
    Protection.RECONCILE: Row(
        prevents="recovery compares a dead process's run with its thread",
        absence_shows="interrupted with nothing left to do; an accepted message that is gone",
        module="sophos/runtime/recovery.py",
    ),
    Protection.DRAIN: Row(
        prevents="a shutdown lets every run reach its step boundary",
        absence_shows="a run recorded as failed because the process was asked to stop",
        module="sophos/runtime/registry.py",
    ),
    Protection.RECONNECT: Row(
        prevents="a tool server that died is started again",
        absence_shows="one dead tool server fails every later run",
        module="sophos/tools/link.py",
    ),
    Protection.SINGLE_OWNER: Row(
        prevents="one database file has one owner",
        absence_shows="a second server relabels the first one's live runs",
        module="sophos/storage/database.py",
    ),
    Protection.DELTA_CHECKPOINTS: Row(
        prevents="a thread's storage grows with its messages, not with their square",
        absence_shows="a database that grows with the square of the thread",
        module="sophos/agent/graph.py",
    ),
    Protection.DONE_CHECK: Row(
        prevents="a reply counts only if the model server said it was done",
        absence_shows="half an answer recorded as whole",
        module="sophos/agent/model.py",
    ),
    Protection.REPLAY: Row(
        prevents="a viewer that comes back is sent what it missed while the run lives",
        absence_shows="a stream with holes: what was said while the viewer was away",
        module="sophos/runtime/registry.py",
    ),
    Protection.ERASE: Row(
        prevents="what is deleted is overwritten in the file, and cut from its log",
        absence_shows="a deleted conversation that anybody can read in the file's bytes",
        module="sophos/storage/database.py",
    ),
}


@dataclass(frozen=True)
class Protections:
    """Which protections are off. All are on unless named."""

    off: frozenset[Protection] = frozenset()

    @classmethod
    def without(cls, *protections: Protection) -> Protections:
        return cls(off=frozenset(protections))

    def on(self, protection: Protection) -> bool:
        return protection not in self.off

    def names_off(self) -> Iterable[str]:
        return sorted(protection.value for protection in self.off)
