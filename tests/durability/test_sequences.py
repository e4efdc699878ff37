"""Whatever is done to a server, and in whatever order, its promises hold.

Hypothesis chooses the order: messages, resumes and cancels, kills, stops, freezes and restarts that
die at some point, viewers that come and go. SOPHOS_LAB_EXAMPLES=200 tries that many orders.
"""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

import psutil
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from toolboxes import configure, small

from lab.bench import Bench
from lab.client import SILENCE, ApiError, Started
from lab.model.script import call, say, think
from lab.process import ProcessError
from lab.promises import messages_kept, nothing_running
from lab.stream import StreamEvent
from sophos.failpoints import Point

FEW: Final = 3  # orders that are tried where nobody asks for more
STEPS: Final = 14  # of an order
CALLS: Final[Any] = [think("This needs both."), call("lab__add"), call("lab__set")]
ANSWER: Final[Any] = [think("That is all."), say("Both are done now.")]
PLAIN: Final[Any] = [think("Nothing is needed."), say("Here is a short answer.")]
MOST_RESUMES: Final = 6  # one more than the server grants
# A resume of what was resumed too often ends so; a new message begins again.
GIVEN_UP: Final = "ATTEMPTS_EXHAUSTED"
BORED: Final = 0.2  # seconds without an event after which a viewer that passes by leaves
Answer = TypeVar("Answer")


@dataclass(kw_only=True)
class Viewer:
    """Comes back, whenever it comes, with the id of the last event it has."""

    bench: Bench
    conversation: str
    seen: list[StreamEvent] = field(default_factory=list)

    def look(self, *, most: int | None, silence: float) -> None:
        """Watch until there is nothing more, or for `most` events and then leave."""
        last = next((event.id for event in reversed(self.seen) if event.id), None)
        try:
            with self.bench.client.stream(
                self.conversation, last_event_id=last, silence=silence
            ) as stream:
                self.seen.extend(islice(stream, most))
        except ApiError:
            return  # it did not get in: as good as a stream that was cut

    def faults(self) -> list[str]:
        """Where an event is missing or came twice; a run that is new to the viewer begins at 1."""
        told = [(run, int(n)) for run, _, n in (e.id.rpartition(":") for e in self.seen if e.id)]
        return [
            f"{before} → {after}"
            for before, after in pairwise([("", 0), *told])
            if after[1] != (before[1] + 1 if before[0] == after[0] else 1)
        ]


class Act(Enum):
    """What may happen."""

    MESSAGE = auto()
    RESUME = auto()
    CANCEL = auto()
    RELEASE = auto()
    LOOK = auto()
    STAY = auto()
    FREEZE = auto()
    KILL = auto()
    RESTART = auto()
    RESTART_TO_DIE = auto()
    DIE_OF_A_CANCEL = auto()


# Some more often than others: most of what can go wrong is between two looks at one run.
OFTEN: Final = [Act.MESSAGE, Act.RESUME, Act.CANCEL, Act.LOOK, Act.LOOK]
STEP: Final = st.tuples(st.sampled_from([*Act, *OFTEN]), st.integers(0, 1_000))


class Order:
    """One conversation, and everything that may happen to it. An act wakes whom it needs."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.accepted: list[str] = []
        self.unanswered: dict[str, str] = {}  # text → key
        self.cancelled: set[str] = set()
        self.conversation: str | None = None
        self.run: str | None = None
        self.passer_by: Viewer | None = None
        self.stays: list[tuple[Viewer, threading.Thread]] = []
        self.armed = ""
        self.bench.sophos.process.end()
        self._hold(on=False)
        self._start("")

    def do(self, act: Act, number: int) -> None:
        """`number` decides what an act leaves open."""
        match act:
            case Act.KILL:
                self.bench.sophos.kill()
            case Act.RESTART:
                self.bench.sophos.process.end()
                self._start("")
            case Act.RESTART_TO_DIE:
                self.bench.sophos.process.end()
                self._start(list(Point)[number % len(Point)])
            case Act.DIE_OF_A_CANCEL:
                self.bench.sophos.process.end()
                self._start(Point.CANCEL_RECORDED)
                self.message([CALLS, ANSWER], held=True)
                self._cancel(self.run or "", dies=False)
            case _:
                self._wake()
                self._do_awake(act, number)

    def _do_awake(self, act: Act, number: int) -> None:
        held = number % 4 != 0
        match act:
            case Act.MESSAGE:
                self.message([CALLS, ANSWER] if number % 3 else [PLAIN], held=held)
            case Act.RELEASE:
                self._hold(on=False)
            case Act.FREEZE:
                self._freeze()
            case _ if self.conversation is None or self.run is None:
                return
            case Act.RESUME:
                self._resume(self.conversation, held=held)
            case Act.CANCEL:
                self._cancel(self.run, dies=number % 2 == 0)
            case Act.LOOK:
                self._look(self.conversation, most=number % 6 or None)
            case Act.STAY:
                self._stay(self.conversation)

    def message(self, turns: list[Any], *, held: bool) -> None:
        text = f"Message {len(self.accepted) + len(self.unanswered) + 1} {uuid.uuid4().hex}"
        self._prepare(turns, held=held)
        self._send(text, uuid.uuid4().hex, "SESSION_IN_PROGRESS")

    def _resume(self, conversation: str, *, held: bool) -> None:
        self._prepare([ANSWER] * 3, held=held)
        client, refused = self.bench.client, ("SESSION_IN_PROGRESS", "RUN_NOT_RESUMABLE")
        if started := self._ask(lambda: client.resume(conversation), *refused):
            self.run = started.run

    def _cancel(self, run: str, *, dies: bool) -> None:
        """With `dies`, the server is killed as soon as it has said yes."""
        process, pid = self.bench.sophos.process, self.bench.sophos.pid
        process.watch()

        def request() -> bool:
            self.bench.client.cancel(run)
            if dies:
                os.kill(pid, signal.SIGKILL)
            return True

        if self._ask(request, "RUN_NOT_ACTIVE"):
            self.cancelled.add(run)
            if dies:
                process.wait()
        elif self.armed == Point.CANCEL_RECORDED and self.bench.sophos.state == "ended":
            # It was on record before the server died of it, even if nobody was told.
            self.cancelled.add(run)

    def _freeze(self) -> None:
        try:
            self.bench.sophos.freeze()
        except (ProcessError, psutil.NoSuchProcess):
            self._see_death()

    def _look(self, conversation: str, *, most: int | None) -> None:
        if self.passer_by is None or self.passer_by.conversation != conversation:
            self.passer_by = Viewer(bench=self.bench, conversation=conversation)
        self.passer_by.look(most=most, silence=BORED)

    def _stay(self, conversation: str) -> None:
        viewer = Viewer(bench=self.bench, conversation=conversation)
        options = {"most": None, "silence": SILENCE}
        thread = threading.Thread(target=viewer.look, kwargs=options, daemon=True)
        self.stays.append((viewer, thread))
        thread.start()

    def _wake(self) -> None:
        match self.bench.sophos.state:
            case "frozen":
                self.bench.sophos.thaw()
            case "ended":
                self._start("")

    def come_to_rest(self) -> None:
        """Let everything come to rest, then see that every promise was kept."""
        self.bench.sophos.kill()
        self._hold(on=False)
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
        for _, thread in self.stays:
            thread.join()
        # Streams have no gap and no double.
        viewers = [viewer for viewer, _ in self.stays]
        viewers += [self.passer_by] if self.passer_by else []
        assert [viewer.faults() for viewer in viewers] == [[]] * len(viewers)

    def _start(self, point: str) -> None:
        rules: dict[str, Any] = {"failpoints": f"{point}=kill"} if point else {}
        self.armed = point
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
        self._hold(on=held)

    def _hold(self, *, on: bool) -> None:
        self.held = on
        if on:
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


@pytest.mark.timeout(0 if "SOPHOS_LAB_EXAMPLES" in os.environ else 600)
def test_promises_hold_in_whatever_order_things_happen(bench: Bench) -> None:
    asked = os.environ.get("SOPHOS_LAB_EXAMPLES")

    @settings(
        max_examples=int(asked or FEW),
        deadline=None,
        database=None,
        # The same few for everyone; as many others as are asked for.
        derandomize=asked is None,
        # A step starts processes: what fails is shown as it is, and not made smaller.
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    # However few orders are tried, one server dies with a cancel on record that no run was told of.
    @example([(Act.DIE_OF_A_CANCEL, 0)])
    @given(st.lists(STEP, min_size=STEPS, max_size=STEPS))
    def holds(steps: list[tuple[Act, int]]) -> None:
        order = Order(bench)
        order.message([CALLS, ANSWER], held=True)
        for act, number in steps:
            order.do(act, number)
        order.come_to_rest()

    holds()
