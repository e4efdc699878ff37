"""Whatever is done to a server, and in whatever order, its promises hold.

Hypothesis chooses the order: messages, resumes and cancels, kills, stops, freezes and restarts that
die at some point, viewers that come and go. SOPHOS_LAB_EXAMPLES=200 tries that many orders.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import psutil
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)
from toolboxes import configure, small

from lab.bench import Bench
from lab.client import ApiError, Started
from lab.model.script import call, say, think
from lab.process import ProcessError
from lab.promises import messages_kept, nothing_running
from lab.stream import StreamEvent
from sophos.failpoints import Point

FEW: Final = 3  # orders that are tried where nobody asks for more
CALLS: Final[Any] = [think("This needs both."), call("lab__add"), call("lab__set")]
ANSWER: Final[Any] = [think("That is all."), say("Both are done now.")]
PLAIN: Final[Any] = [think("Nothing is needed."), say("Here is a short answer.")]
MOST_RESUMES: Final = 6  # one more than the server grants
# A resume of what was resumed too often ends so; a new message begins again.
GIVEN_UP: Final = "ATTEMPTS_EXHAUSTED"
Answer = TypeVar("Answer")


@dataclass
class Viewer:
    """Reads in a thread of its own; comes back with the last id it has."""

    bench: Bench
    conversation: str
    seen: list[StreamEvent] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    leaving: threading.Event = field(default_factory=threading.Event)

    def join(self) -> None:
        self.leaving.clear()
        self.threads.append(threading.Thread(target=self._read, daemon=True))
        self.threads[-1].start()

    def leave(self) -> None:
        """With the next event: a reader that waits for one cannot be called away."""
        self.leaving.set()

    @property
    def watches(self) -> bool:
        return bool(self.threads) and self.threads[-1].is_alive()

    def faults(self) -> list[str]:
        """Where an event is missing or came twice; a run that is new to the viewer begins at 1."""
        told = [(run, int(n)) for run, _, n in (e.id.rpartition(":") for e in self.seen if e.id)]
        return [
            f"{before} → {after}"
            for before, after in pairwise([("", 0), *told])
            if after[1] != (before[1] + 1 if before[0] == after[0] else 1)
        ]

    def _read(self) -> None:
        last = next((event.id for event in reversed(self.seen) if event.id), None)
        try:
            with self.bench.client.stream(self.conversation, last_event_id=last) as stream:
                for event in stream:
                    self.seen.append(event)
                    if self.leaving.is_set():
                        return
        except ApiError:
            return  # the server is dead: as good as a stream that was cut


class Order(RuleBasedStateMachine):
    """One conversation, and everything that may happen to it."""

    bench: ClassVar[Bench]

    def __init__(self) -> None:
        super().__init__()
        self.accepted: list[str] = []
        self.unanswered: dict[str, str] = {}  # text → key
        self.cancelled: set[str] = set()
        self.conversation: str | None = None
        self.run: str | None = None
        self.viewer: Viewer | None = None
        self.armed = False
        self.bench.model.release()
        if self.bench.sophos.state != "running":
            self._start("")

    @property
    def is_up(self) -> bool:
        return self.bench.sophos.state == "running"

    @precondition(lambda self: self.is_up)
    @rule(turns=st.sampled_from([[PLAIN], [CALLS, ANSWER]]), held=st.booleans())
    def message(self, turns: list[Any], held: bool) -> None:
        text = f"Message {len(self.accepted) + len(self.unanswered) + 1} {uuid.uuid4().hex}"
        self._prepare(turns, held=held)
        self._send(text, uuid.uuid4().hex, "SESSION_IN_PROGRESS")

    @precondition(lambda self: self.is_up and self.conversation)
    @rule(held=st.booleans())
    def resume(self, held: bool) -> None:
        self._prepare([ANSWER] * 3, held=held)
        client, conversation = self.bench.client, self._conversation()
        refused = ("SESSION_IN_PROGRESS", "RUN_NOT_RESUMABLE")
        if started := self._ask(lambda: client.resume(conversation), *refused):
            self.run = started.run

    @precondition(lambda self: self.is_up and self.run)
    @rule()
    def cancel(self) -> None:
        run = self.run or ""

        def request() -> bool:
            self.bench.client.cancel(run)
            return True

        if self._ask(request, "RUN_NOT_ACTIVE"):
            self.cancelled.add(run)

    @rule()
    def let_the_model_go_on(self) -> None:
        self.bench.model.release()

    @rule()
    def kill(self) -> None:
        self.bench.sophos.kill()

    @precondition(lambda self: self.is_up)
    @rule()
    def freeze(self) -> None:
        try:
            self.bench.sophos.freeze()
        except (ProcessError, psutil.NoSuchProcess):
            self._see_death()

    @precondition(lambda self: self.bench.sophos.state == "frozen")
    @rule()
    def thaw(self) -> None:
        self.bench.sophos.thaw()

    @rule(point=st.sampled_from(["", "", *Point]))
    def restart(self, point: str) -> None:
        self.bench.sophos.process.end()
        self._start(point)

    @precondition(lambda self: self.is_up and self.conversation)
    @rule()
    def viewer_joins(self) -> None:
        self.viewer = self.viewer or Viewer(self.bench, self._conversation())
        if not self.viewer.watches:
            self.viewer.join()

    @precondition(lambda self: self.viewer)
    @rule()
    def viewer_leaves(self) -> None:
        assert self.viewer is not None
        self.viewer.leave()

    def teardown(self) -> None:
        """Let everything come to rest, then see that every promise was kept."""
        self.bench.sophos.kill()
        self.bench.model.release()
        self._start("")
        if self.conversation is None:
            return
        self._resume_to_the_end(self.conversation)
        self._prepare([PLAIN], held=False)
        self._send("The last message", uuid.uuid4().hex)
        # No conversation answers 409 for ever.
        assert self.bench.client.wait(self.run or "")["status"] == "completed"
        record = self.bench.client.read(self.conversation)
        # No accepted message is lost or doubled.
        verdict = messages_kept(self.accepted, record["messages"])
        assert verdict.holds, verdict
        assert not record["resumable"]
        runs = {run["id"]: run["status"] for run in self.bench.client.runs(self.conversation)}
        # A cancelled run is `cancelled` whenever the process dies.
        assert {runs[run] for run in self.cancelled} <= {"cancelled"}
        # No child is left: this raises if one is.
        assert self.bench.sophos.stop() == 0
        if self.viewer is not None:
            for thread in self.viewer.threads:
                thread.join()
            # Streams have no gap and no double.
            assert not self.viewer.faults()

    def _start(self, point: str) -> None:
        rules = {"failpoints": f"{point}=kill"} if point else {}
        self.armed = bool(point)
        self.bench.sophos.start(**rules)
        # Nothing stays `running` after a restart.
        runs = self.bench.tables.runs()
        assert not len(runs) or nothing_running(runs).holds, runs
        for text, key in list(self.unanswered.items()):
            del self.unanswered[text]
            self._prepare([PLAIN], held=False)
            self._send(text, key)

    def _send(self, text: str, key: str, *refused: str) -> None:
        client = self.bench.client
        try:
            started: Started | None = client.start(text, self.conversation, key=key)
        except ApiError as error:
            if error.code == "NO_ANSWER":
                self.unanswered[text] = key
            self._expect(error, *refused)
        else:
            assert started is not None
            self.accepted.append(text)
            self.conversation, self.run = started.conversation, started.run

    def _ask(self, request: Callable[[], Answer], *refused: str) -> Answer | None:
        try:
            return request()
        except ApiError as error:
            self._expect(error, *refused)
            return None

    def _expect(self, error: ApiError, *refused: str) -> None:
        """A refusal that is in order, or the death of a server that was to die."""
        if error.code != "NO_ANSWER":
            assert error.code in refused, error
            return
        assert self.armed, f"{error}\n{self.bench.sophos.log()}"
        self._see_death()

    def _see_death(self) -> None:
        assert self.armed
        self.bench.sophos.process.wait()

    def _prepare(self, turns: list[Any], *, held: bool) -> None:
        self.bench.model.script(turns)
        if held:
            self.bench.model.hold(2)
        else:
            self.bench.model.release()

    def _resume_to_the_end(self, conversation: str) -> None:
        client = self.bench.client
        for _ in range(MOST_RESUMES):
            for run in client.runs(conversation):
                client.wait(run["id"])
            if not client.read(conversation)["resumable"]:
                return
            self._prepare([ANSWER] * 3, held=False)
            record = client.wait(client.resume(conversation).run)
            if (record["error"] or {}).get("code") == GIVEN_UP:
                return

    def _conversation(self) -> str:
        assert self.conversation is not None
        return self.conversation


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    root: Path = tmp_path_factory.mktemp("lab")
    with Bench("order", model="scripted", root=root, shutdown_grace=0.2) as bench:
        configure(bench.workspace.config, {"lab": small(bench.workspace.directory / "journal")})
        yield bench
        bench.model.close()
    assert not [record.label for record in bench.workspace.records() if record.is_alive]


@pytest.mark.timeout(0 if "SOPHOS_LAB_EXAMPLES" in os.environ else 300)
def test_promises_hold_in_whatever_order_things_happen(bench: Bench) -> None:
    asked = os.environ.get("SOPHOS_LAB_EXAMPLES")
    Order.bench = bench
    run_state_machine_as_test(
        Order,
        settings=settings(
            max_examples=int(asked or FEW),
            stateful_step_count=12,
            deadline=None,
            database=None,
            # The same few for everyone; as many others as are asked for.
            derandomize=asked is None,
            # A step starts processes: what fails is shown as it is, and not made smaller.
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
