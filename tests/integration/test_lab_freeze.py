"""A server that is frozen between an effect and its record, killed there, and resumed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.bench import Bench
from lab.facts import NotSeen
from lab.model.script import call, say
from lab.views.timeline import timeline
from lab.views.view import View

FROZEN = """\
Timeline of conversation 1
   1  run      run 1 starts (message)
   2  step     step -1 is saved
   3  step     step 0 is saved
   4  step     step 1 is saved
      tasks    create_task: walk
   5  process  server#1 is frozen ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄"""

RESUMED = """\
   6  process  server#1 is killed ════════════════════════
   7  process  server#2 starts
   8  run      run 2 starts (resume of run 1)
      tasks    create_task: walk
   9  step     step 2 is saved
      stream   step 3: answer
  10  step     step 3 is saved
  11  run      run 2 is completed"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    bench: Bench
    while_frozen: View
    after: View


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with Bench("freeze", tools=("tasks",), root=tmp_path_factory.mktemp("lab")) as bench:
        create: Any = call("tasks__create_task", title="walk")
        bench.model.script([[create], [say("Done.")]])
        bench.sophos.fail_at("tool.returned", "stop")
        first = bench.client.start("Add a task")
        bench.sophos.wait_for("tool.returned")
        # The frozen server can tell nobody what it streamed: files say all of this.
        while_frozen = timeline(bench, first.conversation)
        bench.sophos.kill()
        bench.sophos.start()
        bench.client.wait(bench.client.resume(first.conversation).run)
        yield Seen(
            bench=bench, while_frozen=while_frozen, after=timeline(bench, first.conversation)
        )


def test_the_freeze_comes_after_the_effect_and_is_the_last_thing_known(seen: Seen) -> None:
    assert seen.while_frozen.text == FROZEN


def test_the_freeze_ends_with_the_crash_and_the_second_effect_is_the_resume_s(seen: Seen) -> None:
    assert seen.after.text == f"{FROZEN}\n{RESUMED}"
    assert list(seen.bench.tables.effects()["title"]) == ["walk", "walk"]


def test_the_figure_has_a_row_for_the_freeze_and_one_for_the_tasks(seen: Seen) -> None:
    lanes = seen.after.data["lane"].value_counts()
    assert (lanes["frozen"], lanes["tasks"]) == (1, 2)
    for words in (">frozen</text>", ">tasks</text>", "create_task: walk", "server#1: frozen"):
        assert words in seen.after.html
    assert "server#1 is frozen; server#1 is killed" in seen.after.html  # its description


def test_a_thaw_is_on_record(seen: Seen) -> None:
    run = seen.bench.client.start("Hello")
    seen.bench.client.wait(run.run)
    seen.bench.sophos.freeze()
    seen.bench.sophos.thaw()
    assert seen.bench.client.health()["status"] == "ok"
    told = timeline(seen.bench, run.conversation).text
    assert "frozen" not in told  # after the conversation's end it is no part of it


def test_a_point_that_no_run_reaches_is_given_up_when_the_last_run_has_ended(
    tmp_path: Path,
) -> None:
    with Bench("never", tools=("tasks",), root=tmp_path) as bench:
        bench.model.script([[say("No tool is needed.")]])
        bench.sophos.fail_at("tool.returned", "stop")
        run = bench.client.start("Hello")
        with pytest.raises(NotSeen, match=r"tool\.returned was not reached.*\(completed\)"):
            bench.sophos.wait_for("tool.returned", seconds=600)
        assert bench.client.run(run.run)["status"] == "completed"
