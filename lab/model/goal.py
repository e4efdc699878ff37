"""A goal: one thing a person asked for, which looks at what was done and says what comes next."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from lab.model.prompt import Found
from lab.model.reply import Call
from lab.model.transcript import Step, Transcript


@dataclass(frozen=True, kw_only=True)
class Move:
    """Either calls to make now, or, when the goal is reached or cannot be, what to tell.

    `reason` is the thought behind it.
    """

    reason: str
    calls: tuple[Call, ...] = ()
    told: str = ""


class Goal(Protocol):
    def move(self, sight: Sight) -> Move:
        """The next move towards the goal. What is called depends on `sight` alone, not on the sample."""
        ...


@dataclass
class Sight:
    """What the goals of one reply see, and what the ones before left to those after them.

    `sentence` is what "that sentence" means.
    """

    transcript: Transcript
    sample: int
    sentence: str | None = None
    unclaimed: list[Step] = field(init=False)

    def __post_init__(self) -> None:
        self.unclaimed = list(self.transcript.steps)

    def tool(self, own_name: str) -> str | None:
        """The offered tool of this name on whichever server: `fetch` finds `fetch__fetch`."""
        for name in self.transcript.tools:
            if own_name in (name, name.rpartition("__")[2]):
                return name
        return None

    def claim(
        self, own_name: str, arguments: Callable[[dict[str, Any]], bool] = lambda _: True
    ) -> Step | None:
        """Take the oldest call of this tool that no other goal has taken."""
        for step in self.unclaimed:
            if own_name in (step.tool, step.tool.rpartition("__")[2]) and arguments(step.arguments):
                self.unclaimed.remove(step)
                return step
        return None

    def pick(self, *phrasings: str) -> str:
        """The phrasing for this sample."""
        return phrasings[self.sample % len(phrasings)]


@dataclass(frozen=True)
class Rule:
    """A pattern over masked text, case aside, and the goal that a match stands for, if it does."""

    text: str
    goal: Callable[[Found], Goal | None]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first needed: all of them take a third of the process's start."""
        return re.compile(self.text, re.IGNORECASE)
