"""The whole stack on a bench: model, site, Memory and Fetch servers, Sophos; all real processes."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import psutil
import pytest

from lab.bench import Bench
from lab.client import ApiError
from lab.facts import until
from lab.model.script import call, say
from lab.process import ProcessError
from lab.tables import Tables
from lab.tree import Record
from lab.workspace import PROJECT

SUN: Any = call(
    "memory__create_entities",
    entities=[{"name": "sun", "entityType": "star", "observations": ["hot"]}],
)

LOOKS: list[Callable[[Tables], pd.DataFrame]] = [
    lambda tables: tables.conversations().head(1),
    lambda tables: tables.runs().head(1),
    lambda tables: tables.checkpoints("conversation 1"),
    lambda tables: tables.writes("conversation 1"),
    lambda tables: tables.events("run 1"),
    lambda tables: tables.processes(),
    lambda tables: tables.sockets(),
    lambda tables: tables.memory(),
    lambda tables: tables.visits(),
]

CELL = """
bench = Bench("06", root=root)
pids = [bench.up().sophos.pid, bench.model.process.pid, bench.site.process.pid]
"""

KERNEL = """
import pathlib, sys, time
from lab.bench import Bench
from lab.model.script import call, say
from lab.process import ProcessError
bench = Bench("06", root=pathlib.Path(sys.argv[1])).up()
bench.model.script([[call("memory__read_graph")], [say("ok")]])
bench.client.wait(bench.client.start("read").run)
if sys.argv[2] == "frozen":
    bench.sophos.freeze()
print(*bench.tables.processes(raw=True)["pid"], flush=True)
time.sleep(600)
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench("06", root=tmp_path) as bench:
        yield bench
    assert not alive(bench.workspace.records())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A bench on which one run has fetched a page, saved an entity and answered."""
    with Bench("tables", root=tmp_path_factory.mktemp("lab")) as bench:
        fetch_and_remember(bench)
        yield bench


def fetch_and_remember(bench: Bench) -> None:
    fetch: Any = call("fetch__fetch", url=f"{bench.site.url}/")
    bench.model.script([[fetch], [SUN], [say("The sun is hot.")]])
    bench.client.wait(bench.client.start(f"Fetch {bench.site.url} and remember").run)


def alive(records: list[Record]) -> list[str]:
    return [record.label for record in records if record.is_alive]


def ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_run_that_is_frozen_and_killed_after_an_effect_is_resumed(bench: Bench) -> None:
    bench.model.script([[SUN], [say("Saved.")]])
    bench.sophos.fail_at("tool.returned(memory__create_entities)", action="stop")
    started = bench.client.start("Remember the sun")
    bench.sophos.wait_for("tool.returned")
    assert bench.sophos.state == "frozen"
    assert list(bench.tables.memory()["name"]) == ["sun"]
    assert not bench.tables.writes(started.conversation)["pending"].any()

    bench.sophos.kill()
    bench.sophos.start()
    assert bench.client.read(started.conversation)["resumable"]
    resumed = bench.client.resume(started.conversation)
    assert bench.client.wait(resumed.run)["status"] == "completed"
    runs = bench.tables.runs()
    assert list(runs["status"]) == ["interrupted", "completed"]
    assert list(runs["owner"]) == ["server#1", "server#2"]
    assert list(bench.tables.runs(raw=True)["input"]) == ["Remember the sun", ""]
    assert bench.client.text(resumed.run).answer == "Saved."


def test_a_point_that_kills_takes_the_tool_servers_along(bench: Bench) -> None:
    bench.model.script([[SUN], [say("Saved.")]])
    bench.sophos.fail_at("tool.returned", action="kill")
    bench.client.start("Remember the sun")
    bench.sophos.wait_for("tool.returned(memory__create_entities)")
    assert bench.sophos.state == "ended"
    assert set(bench.tables.processes()["role"]) == {"model"}


def test_a_stream_is_cut_by_a_kill_and_the_partial_answer_was_never_state(bench: Bench) -> None:
    bench.model.script([say("one two three four five six seven eight nine ten")])
    bench.model.hold(after_tokens=5)
    started = bench.client.start("Count")
    stream = bench.client.stream(started.conversation)
    tokens = list(islice((event for event in stream if event.name == "token"), 5))
    bench.sophos.kill()
    assert [*stream, stream.outcome, stream.closed_by] == [None, "lost"]
    assert len(tokens) == 5
    bench.sophos.start()
    read = bench.client.read(started.conversation)
    assert [message["role"] for message in read["messages"]] == ["user"]


def test_a_connection_to_a_frozen_server_is_given_up(bench: Bench) -> None:
    conversation = bench.client.start("hello").conversation
    bench.sophos.freeze()
    with pytest.raises(ApiError, match="NO_ANSWER"):
        bench.client.stream(conversation, silence=0.1)
    bench.sophos.thaw()
    assert bench.client.wait(bench.client.runs(conversation)[0]["id"])["status"] == "completed"


def test_the_witnesses_come_back_where_they_were(bench: Bench) -> None:
    bench.up()
    before = bench.model.url, bench.site.url
    for witness in (bench.model, bench.site):
        witness.process.kill()
    failed = bench.client.wait(bench.client.start("hello").run)
    for witness in (bench.model, bench.site):
        witness.process.start()
    assert failed["error"]["code"] == "MODEL_UNREACHABLE"
    assert (bench.model.url, bench.site.url) == before
    assert bench.client.wait(bench.client.resume(failed["conversation"]).run)["status"] == (
        "completed"
    )


def test_a_setting_of_a_start_holds_for_that_start_alone(bench: Bench) -> None:
    bench.sophos.start(protect={"DRAIN": False})
    assert "DRAIN" in bench.sophos.log()
    bench.sophos.restart()
    assert "DRAIN" not in bench.sophos.log()


def test_two_benches_at_once_never_meet(bench: Bench, finished: Bench) -> None:
    before = len(finished.tables.conversations())
    bench.client.wait(bench.client.start("hello").run)
    assert bench.sophos.boot_id != finished.sophos.boot_id
    assert (len(bench.tables.conversations()), len(finished.tables.conversations())) == (1, before)


def test_a_second_server_on_the_same_workspace_is_refused(finished: Bench) -> None:
    with pytest.raises(ProcessError, match=r"second#1 ended before it was ready(.|\n)*in use by"):
        finished.second.start()


def test_a_cell_run_twice_leaves_only_the_second_bench(tmp_path: Path) -> None:
    namespace: dict[str, Any] = {"Bench": Bench, "root": tmp_path}
    exec(CELL, namespace)
    first = namespace["pids"]
    exec(CELL, namespace)
    assert all(ended(pid) for pid in first)
    assert not any(ended(pid) for pid in namespace["pids"])
    namespace["bench"].close()


@pytest.mark.parametrize("state", ["running", "frozen"])
def test_nothing_outlives_a_kernel_that_is_killed(tmp_path: Path, state: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KERNEL, str(tmp_path), state],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        owner.kill()
    assert len(pids) >= 5
    until(lambda: all(map(ended, pids)), what="the end of everything the kernel had started")


def test_a_real_model_is_asked_where_the_environment_says(
    tmp_path: Path, finished: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPHOS_LAB_MODEL", "ollama")
    monkeypatch.setenv("OLLAMA_HOST", finished.model.url)
    before = len(finished.model.requests())
    with Bench("06", root=tmp_path) as real:
        assert real.client.wait(real.client.start("hello").run)["status"] == "completed"
        assert len(finished.model.requests()) == before + 1
        with pytest.raises(AttributeError, match="A real model has no 'script'"):
            real.model.script([])


def test_the_model_has_the_pace_that_the_bench_was_given(tmp_path: Path) -> None:
    with Bench("06", tokens_per_second=50, root=tmp_path) as bench:
        url = f"{bench.model.url}/_lab/pace"
        told = httpx.post(url, json={"tokens_per_second": None}, trust_env=False).json()
    assert told == {"tokens_per_second": 50}


def test_a_pace_reaches_the_scripted_model_and_no_real_one(tmp_path: Path) -> None:
    with Bench("06", root=tmp_path) as bench:
        bench.pace(20)
        with pytest.raises(ValueError, match="tokens_per_second"):
            bench.pace(-1)
    with Bench("06", model="ollama", root=tmp_path) as real:
        real.pace(-1)


def test_a_model_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no model 'gpt'"):
        Bench("06", model="gpt", root=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_project_s_own_data_is_out_of_reach(finished: Bench) -> None:
    opened = {
        Path(file.path)
        for member in psutil.Process().children(recursive=True)
        for file in member.open_files()
    }
    assert finished.workspace.database in opened
    assert not any(path.is_relative_to(PROJECT / "data") for path in opened)


def test_an_error_of_the_server_reaches_the_client_with_its_code(finished: Bench) -> None:
    with pytest.raises(ApiError, match="NOT_FOUND"):
        finished.client.read("00000000-0000-4000-8000-000000000000")


def test_checkpoints_read_with_sql_are_those_the_server_tells(finished: Bench) -> None:
    (conversation,) = finished.client.conversations()
    told = finished.client.checkpoints(conversation["id"])
    read = finished.tables.checkpoints("conversation 1")
    for column, name in (("step", "step"), ("source", "source"), ("messages", "message_count")):
        assert list(read[column]) == [checkpoint[name] for checkpoint in told]
    assert list(read["next"]) == [", ".join(checkpoint["next"]) for checkpoint in told]
    assert set(read["run"]) == {"run 1"}


def test_the_tables_say_what_has_happened(finished: Bench) -> None:
    tables = finished.tables
    assert tables.conversations().head(1).to_dict("records") == [
        {"conversation": "conversation 1", "title": "Fetch http://site and remember"}
        | {"messages": 6, "runs": 1, "status": "completed"}
    ]
    assert tables.memory().to_dict("records") == [
        {"kind": "entity", "name": "sun", "type": "star", "content": "hot"}
    ]
    assert list(tables.visits()["path"]) == ["/robots.txt", "/"]
    assert [row for row in tables.writes("conversation 1")["task"] if row.startswith("tools")] == [
        *(["tools: call 1"] * 2),
        *(["tools: call 2"] * 2),
    ]
    assert {"db/sophos.db", "memory/memory.jsonl"} <= set(tables.files()["file"])


def test_the_tables_are_the_same_in_every_run(finished: Bench, bench: Bench) -> None:
    fetch_and_remember(bench)
    for look in LOOKS:
        pd.testing.assert_frame_equal(look(bench.tables), look(finished.tables))


def test_a_walk_counts_what_happened_and_what_files_hold_of_it(finished: Bench) -> None:
    walk = finished.tables.walk().set_index("stage")
    counts = dict(zip(walk.index, zip(walk["happened"], walk["kept"], strict=True), strict=True))
    assert counts["input saved"] == (2, 2)
    assert counts["reply saved"] == (3, 3)
    assert counts["result saved"] == counts["tools step saved"] == (2, 2)
    assert counts["tool called"] == (2, 0)
    assert counts["site visited"] == (2, 2)
    assert counts["entity saved"] == counts["outcome recorded"] == (1, 1)
    assert counts["reply streamed"] == (1, 0)
    assert counts["end announced"] == (1, 0)


def test_the_process_table_names_roles_and_no_pid(finished: Bench) -> None:
    table = finished.tables.processes()
    assert {"server", "model", "site", "mcp memory", "mcp fetch", "keeper"} == set(table["role"])
    assert "pid" not in table
    assert "pid" in finished.tables.processes(raw=True)


def test_events_are_what_the_client_was_shown(finished: Bench) -> None:
    shown = finished.tables.events("run 1")
    assert list(shown["event"])[-1] == "end"
    assert {"call fetch__fetch", "result memory__create_entities"} <= set(shown["what"])
    run = finished.client.conversations()[0]
    raw = finished.tables.events(finished.client.runs(run["id"])[0]["id"], raw=True)
    assert shown["count"].sum() == len(raw)


def test_sockets_tell_who_talks_to_whom(finished: Bench) -> None:
    listening = finished.tables.sockets().query("socket == 'listens'")
    assert list(listening["process"]) == ["model#1", "server#1", "site#1"]


def test_the_ledger_of_the_task_tracker_names_the_calls(tmp_path: Path) -> None:
    once: Any = call("tasks__create_task_once", title="walk")
    with Bench("07", tools=("tasks",), root=tmp_path) as bench:
        bench.model.script([[call("tasks__create_task", title="run"), once], [say("Both.")]])
        started = bench.client.start("Both tasks")
        bench.client.wait(started.run)
        rows = bench.tables.effects().to_dict("records")
        (_, key) = bench.tables.effects(raw=True)["idempotency_key"]
    assert rows == [
        {"n": 1, "tool": "create_task", "title": "run", "key": ""},
        {"n": 2, "tool": "create_task_once", "title": "walk", "key": "conversation 1, call 1"},
    ]
    assert key.startswith(f"{started.conversation}:")
