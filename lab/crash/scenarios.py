"""What a process is killed in the middle of: one message each, and every reply written beforehand.

Each call of a scenario has a title of its own, by which the witness's rows are told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lab.model.script import Step, call, hang_after, say, think

ESSAY: Final = " ".join(f"Sentence {number} says a little more." for number in range(1, 41))

SLOW: Final = 3.0  # seconds; by then what the quick one left is on disk, however busy the machine
STOPS_AFTER: Final = 40  # tokens
TRACKER: Final = "tasks"  # the server's name in front of its tools'
_KEYED: Final = "create_task_once"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """`turns` are the model's replies."""

    name: str
    message: str
    turns: tuple[tuple[Step, ...], ...]
    restless: bool = False
    """The viewer leaves in mid-stream and comes back."""
    cancelled: bool = False
    """The viewer cancels in mid-stream; the last reply does not end by itself."""
    apart: bool = False
    """The calls of a turn come back seconds apart, in their order."""

    @property
    def calls(self) -> int:
        return sum(len(calls_of(turn)) for turn in self.turns)

    @property
    def keyed(self) -> bool:
        """Whether every call is of a tool that takes an idempotency key."""
        names = [step["name"] for turn in self.turns for step in calls_of(turn)]
        return bool(names) and all(name == f"{TRACKER}__{_KEYED}" for name in names)

    @property
    def last_step(self) -> int:
        """The number of the last step: the input is −1 and 0, then each reply and each turn's tools."""
        return sum(2 if calls_of(turn) else 1 for turn in self.turns)

    def rest(self, answered: int) -> list[list[Step]]:
        """The replies after the first `answered`, for whoever goes on: each of them ends."""
        return [[step for step in turn if step["do"] != "hang"] for turn in self.turns[answered:]]


def calls_of(turn: tuple[Step, ...]) -> list[Step]:
    return [step for step in turn if step["do"] == "call"]


def words_of(turn: tuple[Step, ...]) -> int:
    """How many pieces of text a viewer is sent of this reply."""
    return sum(len(step["text"].split()) for step in turn if step["do"] in {"think", "say"})


def _create(*titles: str, tool: str = "create_task") -> tuple[Step, ...]:
    return (
        think("The tracker is what this needs."),
        *(call(f"{TRACKER}__{tool}", title=title) for title in titles),
    )


_LAST: Final = (think("The tracker has answered."), say("That is all there was to do."))

SCENARIOS: Final[Mapping[str, Scenario]] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="plain answer",
            message="Just say something.",
            turns=((think("Nothing is needed for this."), say("Here is a short answer.")),),
        ),
        Scenario(name="one tool", message="Create a task.", turns=(_create("one"), _LAST)),
        Scenario(
            name="three tools",
            message="Create three tasks.",
            turns=(_create("one", "two", "three"), _LAST),
        ),
        Scenario(
            name="three tools with keys",
            message="Create three tasks, each once.",
            turns=(_create("one", "two", "three", tool=_KEYED), _LAST),
        ),
        Scenario(
            name="slow tool beside a quick one",
            message="Create a task, and one that takes a while.",
            turns=(
                (
                    *_create("one"),
                    call(f"{TRACKER}__slow_task", title="two", seconds=SLOW),
                ),
                _LAST,
            ),
            apart=True,
        ),
        Scenario(
            name="failing tool",
            message="Create a task that is refused.",
            turns=(_create("one", tool="fail_task"), _LAST),
        ),
        Scenario(
            name="dying tool server",
            message="Create a task that brings the tracker down, then another.",
            turns=(_create("one", tool="crash_task"), _create("two"), _LAST),
        ),
        Scenario(
            name="long stream",
            message="Write at length.",
            turns=((think("This will take a while."), say(ESSAY)),),
            restless=True,
        ),
        Scenario(
            name="cancelled stream",
            message="Write until you are stopped.",
            turns=((think("This will take a while."), say(ESSAY), hang_after(STOPS_AFTER)),),
            cancelled=True,
        ),
    )
}
