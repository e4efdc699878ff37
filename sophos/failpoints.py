"""Named points where a process can be stopped, frozen or made to fail.

    SOPHOS_FAILPOINTS="tool.returned(memory__create_entities)#2=kill; agent.streaming@40=stop"

    point            one of `Point`
    (selector)       only where the point is passed with this word: a tool's or a node's name
    #nth             only the nth time it matches; 1 unless given
    @count           only once the point's own count has reached this: tokens of a reply
    =action          kill | stop | raise | exit(code) | sleep(milliseconds)

Armed at start-up only: no route can arm one, and a malformed value refuses to start. A hit is
written to the file named by SOPHOS_FAILPOINT_LOG, flushed to disk, before the action: one JSON
line with point, selector, count and pid. `stop` freezes nobody whose owner is gone. Passing a
point that is not armed reads one attribute: write `if failpoints.armed: failpoints.hit(Point.…)`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from sophos.errors import AgentFailure, StartupError


def freeze_self() -> None:
    """Stop this process where it stands, until somebody sends it SIGCONT."""
    os.kill(os.getpid(), signal.SIGSTOP)


class Point(StrEnum):
    RUN_RECORDED = "run.recorded"
    """After the run's row is committed, before the graph is driven."""
    INPUT_SAVED = "input.saved"
    """After the checkpoint of step 0: the input is applied to the thread."""
    AGENT_ASKING = "agent.asking"
    """About to call the model."""
    AGENT_STREAMING = "agent.streaming"
    """In the middle of the reply; the count is the tokens so far."""
    AGENT_ANSWERED = "agent.answered"
    """The reply is complete, its step is not saved."""
    TOOL_CALLING = "tool.calling"
    """About to call a tool; the selector is its name."""
    TOOL_RETURNED = "tool.returned"
    """The effect has happened, nothing of it is recorded; the selector is the tool's name."""
    TOOL_RECORDED = "tool.recorded"
    """The call's write is on disk, its step's checkpoint is not; the selector is the tool's name."""
    STEP_SAVING = "step.saving"
    """Before a step's checkpoint; the selector is its number."""
    STEP_SAVED = "step.saved"
    """After a step's checkpoint; the selector is its number."""
    CANCEL_RECORDED = "cancel.recorded"
    """The cancel is on record, the run is not told of it and goes on."""
    GRAPH_FINISHED = "graph.finished"
    """The final checkpoint is saved, the outcome is not recorded."""
    OUTCOME_RECORDED = "outcome.recorded"
    """The outcome is recorded, not announced."""
    END_ANNOUNCED = "end.announced"
    """The end is announced, the run is not yet removed from the registry."""


class Action(StrEnum):
    KILL = "kill"
    STOP = "stop"
    RAISE = "raise"
    EXIT = "exit"
    SLEEP = "sleep"


# What takes a number, and its most: an exit code is a byte, and nobody waits longer than a day.
_MOST: Final = {Action.EXIT: 255, Action.SLEEP: 86_400_000}
_RULE: Final = re.compile(
    r"(?P<point>[a-z.]+)(?:\((?P<selector>[^()]*)\))?(?:#(?P<nth>\d+))?(?:@(?P<count>\d+))?"
    r"=(?P<action>[a-z]+)(?:\((?P<number>\d+)\))?"
)


@dataclass(frozen=True, kw_only=True)
class Failpoint:
    """One armed point: the rule as parsed."""

    point: Point
    selector: str | None
    nth: int
    count: int | None
    action: Action
    number: int


def parse_failpoints(text: str) -> tuple[Failpoint, ...]:
    """Read a value of SOPHOS_FAILPOINTS; raises StartupError naming the part that is malformed."""
    parts = [part.strip() for part in text.split(";")]
    return tuple(_parse(part) for part in parts if part)


def _parse(part: str) -> Failpoint:
    found = _RULE.fullmatch(part)
    if found is None:
        raise StartupError(
            f"SOPHOS_FAILPOINTS: {part!r} is not point(selector)#nth@count=action."
            " Example: tool.returned(memory__create_entities)#2=kill"
        )
    if found["point"] not in list(Point):
        raise StartupError(
            f"SOPHOS_FAILPOINTS: there is no point {found['point']!r} in {part!r}."
            f" The points are {', '.join(Point)}."
        )
    if found["action"] not in list(Action):
        raise StartupError(
            f"SOPHOS_FAILPOINTS: there is no action {found['action']!r} in {part!r}."
            f" The actions are {', '.join(Action)}."
        )
    action = Action(found["action"])
    if (action in _MOST) != (found["number"] is not None):
        needs = "needs a number, as in sleep(200)" if action in _MOST else "takes no number"
        raise StartupError(f"SOPHOS_FAILPOINTS: the action {action} in {part!r} {needs}.")
    number = int(found["number"] or 0)
    if number > _MOST.get(action, 0):
        raise StartupError(
            f"SOPHOS_FAILPOINTS: the action {action} in {part!r} takes at most {_MOST[action]}."
        )
    nth = int(found["nth"] or 1)
    if nth < 1:
        raise StartupError(f"SOPHOS_FAILPOINTS: #nth in {part!r} counts from 1.")
    return Failpoint(
        point=Point(found["point"]),
        selector=found["selector"] or None,
        nth=nth,
        count=int(found["count"]) if found["count"] else None,
        action=action,
        number=number,
    )


class Failpoints:
    """The armed points of this process and how often each was passed. Dies with the process."""

    def __init__(
        self,
        armed: tuple[Failpoint, ...] = (),
        log: Path | None = None,
        *,
        freeze: Callable[[], None] = freeze_self,
    ) -> None:
        """`freeze` carries out the action `stop`. Raises StartupError if `log` cannot be written."""
        if armed and log is not None:
            try:
                log.open("a", encoding="utf-8").close()
            except OSError as error:
                raise StartupError(
                    f"SOPHOS_FAILPOINT_LOG cannot be written: {error.strerror}."
                ) from error
        self.armed = bool(armed)
        self._rules = armed
        self._passed = dict.fromkeys(range(len(armed)), 0)
        self._log = log
        self._freeze = freeze

    def hit(self, point: Point, selector: str | None = None, count: int | None = None) -> None:
        """Act if an armed rule matches; raises AgentFailure for the action `raise`."""
        due: list[Failpoint] = []
        # All are counted before any acts: one that raises takes no pass from those behind it.
        for index, rule in enumerate(self._rules):
            if rule.point != point or rule.selector not in (None, selector):
                continue
            if rule.count is not None and rule.count != count:
                continue
            self._passed[index] += 1
            if self._passed[index] == rule.nth:
                due.append(rule)
        for rule in due:
            self._record(rule, selector, count)
            self._act(rule)

    def _record(self, rule: Failpoint, selector: str | None, count: int | None) -> None:
        if self._log is None:
            return
        line = {
            "point": rule.point.value,
            "selector": selector,
            "count": count,
            "action": rule.action.value,
            "pid": os.getpid(),
        }
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
            log.flush()
            os.fsync(log.fileno())

    def _act(self, rule: Failpoint) -> None:
        match rule.action:
            case Action.KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            case Action.STOP:
                self._freeze()
            case Action.EXIT:
                os._exit(rule.number)
            case Action.SLEEP:
                # Blocks the whole process on purpose: nothing else may go on meanwhile.
                time.sleep(rule.number / 1000)
            case Action.RAISE:
                raise AgentFailure(f"The failpoint {rule.point} raised on purpose.")
