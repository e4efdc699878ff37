"""What the absence of each protection shows: one crash that tells it from its presence.

`sophos.protections` says in words what each absence shows. Here is where to look for it: a crash
whose row is different with the protection off, or, where no crash can tell, the test that does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pandas as pd

from lab.crash.cell import NOT_PASSED, Cell, Then
from sophos.protections import ROWS, Protection

SUMMARY: Final = ("protection", "off_shows", "seen_in", "on", "off", "as_promised")
MISSING: Final = "NO"
NOT_HERE: Final = "–"
_TESTS: Final = "tests/durability/test_protections.py"


@dataclass(frozen=True, kw_only=True)
class Sign:
    """One crash, and what its row says with the protection on and with it off."""

    protection: Protection
    scenario: str
    rule: str
    then: Then = "resume"
    on: Mapping[str, Any]
    off: Mapping[str, Any]
    without: frozenset[Protection] = field(default=frozenset())
    """What is off either way, as it would stand in."""

    def cells(self) -> tuple[Cell, Cell]:
        """The crash with the protection on, and with it off."""
        return self._cell(self.without), self._cell(self.without | {self.protection})

    def _cell(self, off: frozenset[Protection]) -> Cell:
        return Cell(scenario=self.scenario, rule=self.rule, off=off, then=self.then)


SIGNS: Final = (
    Sign(
        protection=Protection.SYNC_DURABILITY,
        scenario="one tool",
        rule="agent.asking#2",
        on={"tools_repeated": 0},
        off={"tools_repeated": 1},
    ),
    Sign(
        protection=Protection.WRITE_BARRIER,
        # One call: of several, some have their write on disk by then and some have not.
        scenario="one tool",
        rule="step.saving(2)",
        on={"tools_repeated": 0},
        off={"tools_repeated": 1},
        # With delta checkpoints the library waits for the writes by itself.
        without=frozenset({Protection.DELTA_CHECKPOINTS}),
    ),
    Sign(
        protection=Protection.CALL_TASKS,
        scenario="slow tool beside a quick one",
        rule="tool.returned#2",
        on={"tools_repeated": 1},
        off={"tools_repeated": 2},
    ),
    Sign(
        protection=Protection.IDEMPOTENCY_KEY,
        scenario="three tools with keys",
        rule="tool.returned#1",
        on={"effects_per_call": 1},
        off={"effects_per_call": 2},
    ),
    Sign(
        protection=Protection.HISTORY_REPAIR,
        scenario="three tools",
        rule="step.saved(1)",
        then="message",
        on={"calls_unanswered": 0},
        off={"calls_unanswered": 3},
    ),
    Sign(
        protection=Protection.RECONCILE,
        scenario="plain answer",
        rule="run.recorded",
        on={"messages_lost": 0},
        off={"messages_lost": 1},
    ),
    Sign(
        protection=Protection.RECONCILE,
        scenario="plain answer",
        rule="graph.finished",
        on={"status": "completed", "resumable": False},
        off={"status": "interrupted", "resumable": False},
    ),
    Sign(
        protection=Protection.RECONNECT,
        scenario="dying tool server",
        rule="graph.finished",
        on={"status": "completed", "outcome": "completed"},
        off={"status": NOT_PASSED, "outcome": "failed"},
    ),
)
# A matrix kills one server that serves one conversation.
ELSEWHERE: Final = {
    Protection.DRAIN: (
        "a shutdown, and no death",
        f"{_TESTS}::test_drain_lets_a_run_reach_its_step_boundary",
    ),
    Protection.SINGLE_OWNER: (
        "a second server",
        f"{_TESTS}::test_single_owner_keeps_a_second_server_from_live_runs",
    ),
    Protection.DELTA_CHECKPOINTS: (
        "a long thread",
        f"{_TESTS}::test_delta_checkpoints_grow_with_the_thread_and_not_with_its_square",
    ),
    Protection.STEP_WAITS: (
        "a disk that stands still",
        f"{_TESTS}::test_step_waits_for_the_disk_before_anything_is_done_in_the_next",
    ),
    Protection.REPLAY: (
        "a viewer that comes back, and no death",
        f"{_TESTS}::test_replay_sends_whoever_comes_back_what_was_missed",
    ),
    Protection.ERASE: (
        "a deletion, and no death",
        f"{_TESTS}::test_erase_leaves_no_byte_of_a_deleted_conversation",
    ),
    Protection.DONE_CHECK: (
        "a model server that breaks off",
        f"{_TESTS}::test_done_check_refuses_half_an_answer",
    ),
}
"""Why no crash shows the absence of these, and what does."""


def cells_of(protections: Collection[Protection]) -> list[Cell]:
    """The crashes that show the absence of these protections, each with it on and then off."""
    return [cell for sign in _signs(protections) for cell in sign.cells()]


def summary(protections: Collection[Protection], frame: pd.DataFrame) -> pd.DataFrame:
    """What the crashes of `cells_of` showed, one row per sign, in the order of the protections.

    One row for each protection, too, whose absence no crash shows.
    """
    rows: list[Any] = frame.to_dict("records")
    pairs = zip(_signs(protections), rows[::2], rows[1::2], strict=True)
    seen = [_seen(sign, on, off) for sign, on, off in pairs]
    seen += [_elsewhere(name, *ELSEWHERE[name]) for name in protections if name in ELSEWHERE]
    order = [name.value for name in Protection]
    seen.sort(key=lambda row: order.index(row["protection"]))
    return pd.DataFrame(seen, columns=list(SUMMARY))


def as_text(shown: pd.DataFrame) -> str:
    """The summary for a terminal: a few short lines for each row."""
    parts = []
    for row in shown.to_dict("records"):
        parts.append(f"{row['protection']}: off shows {row['off_shows']}\n  {row['seen_in']}")
        if row["on"] == NOT_HERE:
            parts[-1] += f"\n  shown by this test alone: it {row['as_promised']}"
        else:
            parts[-1] += f"\n  on:  {row['on']}\n  off: {row['off']}"
            parts[-1] += f"\n  as promised: {row['as_promised']}"
    return "\n".join(parts)


def _signs(protections: Collection[Protection]) -> list[Sign]:
    return [sign for sign in SIGNS if sign.protection in protections]


def _seen(sign: Sign, on: Mapping[str, Any], off: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: on[name] for name in sign.on}, {name: off[name] for name in sign.off}
    return {
        "protection": sign.protection.value,
        "off_shows": ROWS[sign.protection].absence_shows,
        "seen_in": f"{sign.scenario}, {sign.rule}, {sign.then}",
        "on": _told(found[0]),
        "off": _told(found[1]),
        "as_promised": "yes" if found == (sign.on, sign.off) else MISSING,
    }


def _elsewhere(protection: Protection, why: str, test: str) -> dict[str, Any]:
    return {
        "protection": protection.value,
        "off_shows": ROWS[protection].absence_shows,
        "seen_in": test,
        "on": NOT_HERE,
        "off": NOT_HERE,
        "as_promised": f"takes {why}",
    }


def _told(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
