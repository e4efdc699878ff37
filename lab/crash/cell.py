"""One crash: a message is sent, the process killed at a point, restarted, looked at, gone on with.

Everything is done to a bench as an outsider does it. Each crash has a conversation of its own; the
bench, its model and its files serve one crash after the other.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from lab.bench import Bench
from lab.client import ApiError, Client, Started
from lab.crash.scenarios import SCENARIOS, Scenario
from lab.crash.verdicts import Evidence, effects_lost, judged
from lab.facts import NotSeen
from lab.model.script import say, think
from lab.process import ProcessError
from lab.stream import StreamEvent
from lab.witness import read_effects, read_received
from lab.workspace import ROOT
from sophos.protections import Protection

NOT_PASSED: Final = "not passed"
"""Stands for the status right after the restart where there was no crash to restart from."""
FAULT: Final = "fault"
"""Stands for the status where Sophos did what no crash explains; `outcome` says what."""
FAULTS: Final = (ApiError, NotSeen, ProcessError)
NONE_OFF: Final = "none"
MOST_RESUMES: Final = 5  # as many as the server grants the same work in a row
ENOUGH: Final = 10  # events that a viewer has seen when it leaves, or cancels
INSTEAD: Final = "Never mind. Something else."
REPLY: Final = (think("Something new."), say("Understood."))

Then = Literal["resume", "message"]
"""How the conversation goes on: the work is resumed, or a new message comes instead."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One crash to be made. `rule` is the failpoint, without its action."""

    scenario: str
    off: frozenset[Protection]
    rule: str
    then: Then = "resume"

    def row(self, evidence: Evidence) -> dict[str, Any]:
        """One row of a matrix."""
        row = self._place() | judged(evidence)
        if not self.off and (lost := effects_lost(evidence.effects, evidence.messages)):
            said = f"{lost} of the calls have a good result on record, and never had their effect."
            row |= {"status": FAULT, "outcome": said}
        return row

    def fault(self, error: Exception) -> dict[str, Any]:
        """The row of a crash that could not be gone through with."""
        return self._place() | {"status": FAULT, "outcome": str(error)}

    def _place(self) -> dict[str, Any]:
        return {
            "scenario": self.scenario,
            "protection_off": ", ".join(sorted(self.off)) or NONE_OFF,
            "point": self.rule,
            "then": self.then,
        }


@contextmanager
def open_crashes(root: Path = ROOT) -> Iterator[Crashes]:
    """A bench to crash on; every process of it is gone afterwards."""
    # Named, so that a learner's own model is not asked to play a script.
    with Bench("matrix", model="scripted", tools=("tasks",), root=root) as bench:
        yield Crashes(bench)


class Crashes:
    """Makes one crash after the other. Between two of them its bench has no server."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._server = bench.sophos
        self._effects = 0  # rows of the witness's ledgers that belong to earlier crashes
        self._received = 0

    def make(self, cell: Cell) -> Evidence:
        """Raises one of FAULTS where Sophos does what no crash explains."""
        scenario = SCENARIOS[cell.scenario]
        tracker = self._bench.workspace.tasks
        self._effects, self._received = len(read_effects(tracker)), len(read_received(tracker))
        protect = dict.fromkeys(cell.off, False)
        key = uuid.uuid4().hex
        self._bench.model.script(scenario.turns)
        self._bench.model.forget_requests()
        self._server.start(failpoints=f"{cell.rule}=kill", protect=protect)
        try:
            started = self._send(scenario.message, key)
            if started is not None and self._sees_end(started, scenario):
                died = time.monotonic()
                return self._looked_at(scenario, started, died, status=NOT_PASSED, then="resume")
            self._server.process.wait()
            died = time.monotonic()
            self._server.start(protect=protect)
            # Whoever got no answer cannot know that the message was accepted, and sends it again.
            started = started or self._client.start(scenario.message, key=key)
            (run,) = self._client.runs(started.conversation)
            return self._looked_at(scenario, started, died, status=run["status"], then=cell.then)
        finally:
            self._server.kill()

    @property
    def _client(self) -> Client:
        return self._bench.client

    def _send(self, message: str, key: str) -> Started | None:
        """None if the server dies before it can answer."""
        with suppress(ApiError):
            return self._client.start(message, key=key)
        return None

    def _sees_end(self, started: Started, scenario: Scenario) -> bool:
        """Watch the run as a viewer does. False if the server dies first."""
        try:
            with self._client.stream(started.conversation, run=started.run) as stream:
                if scenario.restless or scenario.cancelled:
                    self._watch(islice(stream, ENOUGH))
                if scenario.restless:
                    stream.reconnect()
                if scenario.cancelled:
                    self._client.cancel(started.run)
                self._watch(stream)
                return stream.outcome is not None
        except (ApiError, ProcessError):
            # It does not answer; or its end is seen already, and nobody is there to be asked.
            return False

    def _watch(self, events: Iterable[StreamEvent]) -> None:
        for _ in events:
            # A process takes the list of its children with it when it is killed.
            self._server.process.watch()

    def _looked_at(
        self, scenario: Scenario, started: Started, died: float, *, status: str, then: Then
    ) -> Evidence:
        """Look, go on until nothing is left, then look again."""
        client, conversation = self._client, started.conversation
        first = view = client.read(conversation)
        recovered = time.monotonic()
        sent, before, resumes = [scenario.message], 0, 0
        if then == "message":
            before = len(client.runs(conversation))
            self._bench.model.script([REPLY])
            recovered = self._goes_on(client.start(INSTEAD, conversation))
            sent.append(INSTEAD)
            view = client.read(conversation)
        while view["resumable"] and resumes < MOST_RESUMES:
            done = sum(message["role"] == "assistant" for message in view["messages"])
            self._bench.model.script(scenario.rest(done))
            shown = self._goes_on(client.resume(conversation))
            recovered = shown if resumes == 0 and not before else recovered
            resumes += 1
            view = client.read(conversation)
        runs = client.runs(conversation)
        tracker = self._bench.workspace.tasks
        return Evidence(
            sent=sent,
            status=status,
            resumable=first["resumable"],
            messages=view["messages"],
            shown=[event for run in runs[before:] for event in client.shown(run["id"])],
            received=read_received(tracker)[self._received :],
            effects=read_effects(tracker)[self._effects :],
            requests=[asked["body"]["messages"] for asked in self._bench.model.requests()],
            resumes=resumes,
            outcome=runs[-1]["status"],
            seconds=recovered - died,
        )

    def _goes_on(self, started: Started) -> float:
        """Watch a run to its end. When the first of it was seen."""
        with self._client.stream(started.conversation, run=started.run) as stream:
            self._watch(islice(stream, 1))
            first = time.monotonic()
            self._watch(stream)
        return first
