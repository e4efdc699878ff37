"""The server as a process among processes: killed, asked to stop, frozen, started twice."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import psutil
import pytest
from toolboxes import alive, configure, facts_with, small

from lab.bench import Bench
from lab.client import ApiError, Started
from lab.facts import until
from lab.model.script import call, say, think
from lab.process import ProcessError
from lab.stream import EventStream, StreamEvent

ADD: Any = call("lab__add", text="one")
THINKING: Any = [think("I think about this for a while."), ADD]
ANSWER: Any = [say("All of it is done.")]
SUN: Any = call(
    "memory__create_entities",
    entities=[{"name": "sun", "entityType": "star", "observations": ["hot"]}],
)


class Desk:
    """One bench for all tests here: each begins with a clean model and an empty journal."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.sophos, self.model = bench, bench.sophos, bench.model
        self.journal = bench.workspace.directory / "journal.jsonl"
        self.project_servers = (bench.workspace.config / "mcp.json").read_text(encoding="utf-8")

    @property
    def client(self) -> Any:
        return self.bench.client

    @property
    def effects(self) -> list[str]:
        return facts_with(self.journal, "done")

    def clear(self) -> None:
        self.journal.unlink(missing_ok=True)
        configure(self.bench.workspace.config, {"lab": small(self.journal)})
        self.model.release()
        self.model.forget_requests()
        self.model.script([])

    def held(self, *turns: Any, after: int = 2) -> Started:
        """A run whose model stands still in the middle of its first reply."""
        self.model.script(turns)
        self.model.hold(after)
        started: Started = self.client.start("Do it")
        self.model.wait_held()
        return started

    def signal(self, number: int = signal.SIGTERM) -> None:
        """Send a signal, and see it heard."""
        psutil.Process(self.sophos.pid).send_signal(number)
        self._see_stopping()

    def lose_owner(self) -> None:
        """Close the server's line to its owner, as its owner's death does, and see that it knows."""
        pipe = self.sophos.process._started().stdin
        assert pipe is not None
        pipe.close()
        self._see_stopping()

    def _see_stopping(self) -> None:
        until(
            lambda: "Stopping." in self.sophos.log() or not self.sophos.process.is_alive,
            what="the server's word that it stops",
        )

    def statuses(self, conversation: str) -> list[str]:
        return [run["status"] for run in self.client.runs(conversation)]

    def roles(self, conversation: str) -> list[str]:
        return [message["role"] for message in self.client.read(conversation)["messages"]]


@pytest.fixture(scope="module")
def the_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with Bench("crash", model="scripted", root=tmp_path_factory.mktemp("lab")) as bench:
        yield Desk(bench)
        bench.model.close()
    assert not [record.label for record in bench.workspace.records() if record.is_alive]


@pytest.fixture
def desk(the_desk: Desk) -> Desk:
    the_desk.clear()
    return the_desk


def alive_again(desk: Desk) -> None:
    if desk.sophos.state != "running":
        desk.sophos.restart()


def names(stream: EventStream) -> list[str]:
    return [event.name for event in stream]


def collect(stream: EventStream, into: list[StreamEvent]) -> None:
    """As it comes, so that whoever waits meanwhile can see what has come."""
    for event in stream:
        into.append(event)  # noqa: PERF402 - extend need not show what it has so far


def kinds(events: Any) -> list[str]:
    return [event.data["event"] for event in events if event.name == "trace"]


def test_tools_whose_results_are_recorded_are_not_called_again(desk: Desk) -> None:
    (desk.bench.workspace.config / "mcp.json").write_text(desk.project_servers, encoding="utf-8")
    fetch: Any = call("fetch__fetch", url=f"{desk.bench.site.url}/")
    desk.model.script([[fetch], [SUN], ANSWER])
    desk.sophos.fail_at("tool.recorded(memory__create_entities)")
    desk.sophos.restart()
    started = desk.client.start("Fetch and remember")
    desk.sophos.wait_for("tool.recorded")
    assert set(desk.bench.tables.processes()["role"]) == {"model", "site"}
    visits = len(desk.bench.site.visits())

    desk.sophos.start()
    assert desk.client.read(started.conversation)["resumable"]
    resumed = desk.client.resume(started.conversation)
    assert desk.client.wait(resumed.run)["status"] == "completed"
    assert len(desk.bench.site.visits()) == visits
    assert list(desk.bench.tables.memory()["name"]) == ["sun"]
    assert desk.roles(started.conversation) == [
        *("user", "assistant", "tool", "assistant", "tool", "assistant")
    ]
    assert kinds(desk.client.shown(resumed.run))[:1] == ["resume"]


def test_nothing_is_told_before_it_is_on_disk(desk: Desk) -> None:
    desk.model.script([THINKING, ANSWER])
    points = ("tool.returned", "tool.recorded", "outcome.recorded")
    for point in points:
        desk.sophos.fail_at(point, action="stop")
    desk.sophos.restart()
    started = desk.client.start("Do it")
    seen: list[StreamEvent] = []
    facts = []
    with ThreadPoolExecutor() as threads, desk.client.stream(started.conversation) as stream:
        watching = threads.submit(collect, stream, seen)
        for point in points:
            desk.sophos.wait_for(point)
            whats = desk.bench.tables.writes(started.conversation)["what"]
            (status,) = desk.bench.tables.runs(started.conversation)["status"]
            recorded = any(what.startswith("result") for what in whats)
            facts.append((recorded, "result" in kinds(seen), status, stream.outcome))
            desk.sophos.thaw()
        watching.result()
    assert facts == [
        (False, False, "running", None),
        (True, False, "running", None),
        (True, True, "completed", None),
    ]
    assert stream.outcome == "completed"


def test_a_stream_that_a_kill_cut_is_told_of_the_gap_and_not_twice(desk: Desk) -> None:
    alive_again(desk)
    started = desk.held(THINKING, after=4)
    with desk.client.stream(started.conversation, silence=2) as stream:
        seen = [next(iter(stream)) for _ in range(3)]
        desk.sophos.kill()
        list(stream)
        assert stream.closed_by == "lost"
    desk.clear()
    desk.sophos.start()
    desk.model.script([THINKING, ANSWER])
    resumed = desk.client.resume(started.conversation)
    with desk.client.stream(started.conversation, last_event_id=seen[-1].id) as stream:
        events = list(stream)
    assert [event.name for event in events[:2]] == ["gap", "trace"]
    assert events[1].data["event"] == "resume"
    assert events[1].id == f"{resumed.run}:1"
    assert desk.client.text(resumed.run).answer == "All of it is done."
    assert desk.statuses(started.conversation) == ["interrupted", "completed"]


def test_a_killed_server_leaves_no_child_and_the_model_stops(desk: Desk) -> None:
    alive_again(desk)
    desk.model.script([[call("lab__add", then="wait")]])
    desk.client.start("Wait")
    until(lambda: desk.effects, what="the call")
    children = psutil.Process(desk.sophos.pid).children(recursive=True)
    assert children
    desk.sophos.kill()
    assert not [child for child in children if alive(child.pid)]
    assert set(desk.bench.tables.processes()["role"]) <= {"model", "site"}


def test_a_stop_in_mid_stream_drains_at_the_step_boundary(desk: Desk) -> None:
    alive_again(desk)
    started = desk.held(THINKING)
    with ThreadPoolExecutor() as threads, desk.client.stream(started.conversation) as stream:
        watching = threads.submit(list, stream)
        desk.signal()
        with pytest.raises(ApiError, match="SHUTTING_DOWN"):
            desk.client.start("Too late")
        desk.model.release()
        assert desk.sophos.process.wait() == 0
        events = watching.result()
    assert stream.outcome == "interrupted"
    assert kinds(events) == ["enter", "leave"]
    desk.sophos.start()
    assert desk.statuses(started.conversation) == ["interrupted"]
    assert desk.roles(started.conversation) == ["user", "assistant"]
    assert desk.effects == []
    desk.model.script([ANSWER])
    assert desk.client.wait(desk.client.resume(started.conversation).run)["status"] == "completed"
    assert desk.effects == ["add"]


def test_a_second_signal_ends_it_at_once(desk: Desk) -> None:
    alive_again(desk)
    started = desk.held(THINKING)
    desk.signal()
    psutil.Process(desk.sophos.pid).send_signal(signal.SIGTERM)
    assert desk.sophos.process.wait() == 128 + signal.SIGTERM
    desk.sophos.start()
    assert desk.statuses(started.conversation) == ["interrupted"]
    assert desk.client.read(started.conversation)["resumable"]


def test_a_run_that_does_not_reach_its_boundary_in_time_is_interrupted(desk: Desk) -> None:
    desk.sophos.restart(shutdown_grace=0.2)
    started = desk.held(THINKING)
    assert desk.sophos.stop() == 0
    desk.sophos.start()
    assert desk.statuses(started.conversation) == ["interrupted"]


def test_without_drain_a_stop_is_recorded_as_a_failure(desk: Desk) -> None:
    desk.sophos.restart(protect={"DRAIN": False})
    started = desk.held(THINKING)
    assert desk.sophos.stop() == 0
    desk.sophos.start()
    assert desk.statuses(started.conversation) == ["failed"]
    assert desk.client.read(started.conversation)["resumable"]


def test_a_frozen_server_goes_on_where_it_stood(desk: Desk) -> None:
    alive_again(desk)
    started = desk.held([say("Before and after the frost.")])
    with desk.client.stream(started.conversation) as stream:
        desk.sophos.freeze()
        desk.model.release()
        desk.sophos.thaw()
        assert names(stream)[-1] == "end"
    assert desk.client.text(started.run).answer == "Before and after the frost."


def test_a_point_that_would_freeze_a_server_whose_owner_has_gone_freezes_nobody(
    desk: Desk,
) -> None:
    desk.sophos.fail_at("agent.answered", "stop")
    desk.sophos.restart()
    started = desk.held(THINKING)
    desk.lose_owner()
    desk.model.release()
    assert desk.sophos.process.wait() == 0
    assert desk.sophos._next_hit("agent.answered") is not None
    desk.sophos.start()
    assert desk.statuses(started.conversation) == ["interrupted"]


def test_the_same_key_finds_its_run_after_a_death(desk: Desk) -> None:
    alive_again(desk)
    desk.model.hold(1)
    first = desk.client.start("Only once", key="the-key")
    desk.model.wait_held()
    desk.sophos.kill()
    desk.sophos.start()
    assert desk.client.start("Only once", key="the-key") == first
    with pytest.raises(ApiError, match="IDEMPOTENCY_KEY_REUSED"):
        desk.client.start("Something else", key="the-key")
    assert desk.statuses(first.conversation) == ["interrupted"]
    resumed = desk.client.resume(first.conversation, key="another")
    assert desk.client.resume(first.conversation, key="another") == resumed


def test_a_second_server_waits_for_the_death_of_the_first(desk: Desk) -> None:
    alive_again(desk)
    started = desk.held(THINKING)
    with pytest.raises(ProcessError, match="in use by another server"):
        desk.bench.second.start()
    assert desk.statuses(started.conversation) == ["running"]
    desk.sophos.kill()
    desk.bench.second.start()
    rows = desk.bench.tables.runs(started.conversation)
    assert list(rows["status"]) == ["interrupted"]
    desk.bench.second.stop()


def test_with_two_owners_the_second_relabels_the_firsts_live_run(desk: Desk) -> None:
    desk.sophos.restart(protect={"SINGLE_OWNER": False})
    started = desk.held([say("Still here.")])
    desk.bench.second.start(protect={"SINGLE_OWNER": False})
    assert desk.statuses(started.conversation) == ["interrupted"]
    desk.bench.second.kill()
    desk.model.release()
    with desk.client.stream(started.conversation) as stream:
        list(stream)
    assert stream.outcome == "interrupted"
    desk.sophos.kill()


SETTLED: Final = {"completed", "failed", "cancelled", "interrupted"}


def test_at_the_end_of_all_this_nothing_is_left_running(desk: Desk) -> None:
    desk.sophos.restart()
    assert set(desk.bench.tables.runs()["status"]) <= SETTLED
