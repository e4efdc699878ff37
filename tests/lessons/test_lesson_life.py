"""A lesson in the hands of a person: cells run twice, Stop, Restart, an answer, and the end.

All of it is one rehearsal per lesson, on one kernel after the other; each test reads one part.
"""

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from kernel import Kernel, Reply
from notebook import LESSONS, ROOT, Notebook

from lab.answers import PATH_VARIABLE
from lab.bench import MODEL_VARIABLE
from lab.facts import until
from lab.workspace import ROOT as WORKSPACES
from lab.workspace import sweep

VERDICT: Final = re.compile(r"^([✓✗?] (?:holds|violated|unknown): .+)$", re.MULTILINE)
# Cells that say what an earlier cell left before they mend it: the second time there is nothing to
# mend. Whoever adds one says why here.
MENDS: Final = {"06_failure_restart_and_resume.ipynb": ["message"]}

pytestmark = pytest.mark.timeout(400)


@dataclass
class Rehearsal:
    """What was seen. A fact that was not reached keeps a value that no test accepts."""

    lesson: str
    interrupted: Reply | None = None
    before_stop: int = 0
    after_stop: int = -1
    left_by_a_killed_kernel: list[str] = field(default_factory=lambda: ["not reached"])
    failed_cells: list[str] = field(default_factory=lambda: ["not reached"])
    other_verdicts: list[str] = field(default_factory=lambda: ["not reached"])
    wrong: str = ""
    right: str = ""
    left_by_a_kernel_that_ended: list[str] = field(default_factory=lambda: ["not reached"])
    new_files: set[str] = field(default_factory=lambda: {"not reached"})
    pids: list[int] = field(default_factory=list)


@pytest.fixture(scope="module", params=LESSONS, ids=lambda path: path.name)
def seen(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Rehearsal:
    lesson, place = Notebook.read(request.param), tmp_path_factory.mktemp("lesson")
    environment = {k: v for k, v in os.environ.items() if k != MODEL_VARIABLE}
    environment |= {PATH_VARIABLE: str(place / "predictions.db"), "TMPDIR": str(place / "tmp")}
    (place / "tmp").mkdir()
    seen, before = Rehearsal(lesson=lesson.name), files(place / "tmp")
    with Kernel(request.param.parent, environment) as kernel:
        stop_and_kill(kernel, lesson, seen)
        run_twice(kernel, lesson, seen)
        answer(kernel, lesson, seen)
        kernel.shut_down()
        kernel.see_all_gone()
        seen.left_by_a_kernel_that_ended = kernel.alive_below()
        seen.pids = kernel.pids
    seen.new_files = files(place / "tmp") - before
    return seen


def stop_and_kill(kernel: Kernel, lesson: Notebook, seen: Rehearsal) -> None:
    """Set up, press Stop while the lesson runs, then kill the kernel."""
    kernel.run(lesson.code[0].source)
    seen.before_stop = len(kernel.alive_below())
    rest = kernel.begin("\n".join(cell.source for cell in lesson.code[1:]))

    def more_below() -> bool:
        kernel.look()
        return len(kernel.alive_below()) > seen.before_stop

    until(more_below, what="a process that the running cell started")
    kernel.interrupt()
    seen.interrupted = kernel.answer(rest)
    seen.after_stop = len(kernel.alive_below())
    kernel.restart()
    kernel.see_all_gone()
    seen.left_by_a_killed_kernel = kernel.alive_below()


def run_twice(kernel: Kernel, lesson: Notebook, seen: Rehearsal) -> None:
    """Each cell, and at once again. What a verdict found may differ then, and not its outcome."""
    seen.failed_cells, seen.other_verdicts = [], []
    for cell in lesson.code:
        said = []
        for time in ("first", "second"):
            reply = kernel.run(cell.source)
            said.append(VERDICT.findall(reply.shown))
            if reply.error and "raises-exception" not in cell.metadata.get("tags", []):
                seen.failed_cells.append(f"{cell.id}, {time} time: {reply.error}: {reply.message}")
        if said[0] != said[1]:
            seen.other_verdicts.append(cell.id)


def answer(kernel: Kernel, lesson: Notebook, seen: Rehearsal) -> None:
    [at], [verdict], [solution] = (
        lesson.tagged("answer"),
        lesson.tagged("verdict"),
        lesson.solutions(),
    )
    between = [cell.source for cell in lesson.code[at + 1 : verdict + 1]]
    for name, given in (("wrong", lesson.code[at].metadata["wrong"]), ("right", solution)):
        kernel.run(lesson.code[at].source)
        kernel.run(given)
        setattr(seen, name, [kernel.run(source) for source in between][-1].shown)


def files(temporary: Path) -> set[str]:
    """Every file that a lesson could have left, but for what git ignores as a matter of course."""
    places = [ROOT / "lessons", ROOT / "config", ROOT / "data", temporary]
    found = {path for place in places if place.exists() for path in place.rglob("*")}
    return {
        str(path)
        for path in found
        if not path.is_relative_to(WORKSPACES) and path.name != "__pycache__"
        if path.is_file() and path.suffix != ".pyc"
    }


def test_stop_ends_the_cell_and_no_process(seen: Rehearsal) -> None:
    assert seen.interrupted is not None
    assert seen.interrupted.error == "KeyboardInterrupt"
    assert seen.after_stop >= seen.before_stop > 0


def test_nothing_outlives_a_killed_kernel(seen: Rehearsal) -> None:
    assert seen.left_by_a_killed_kernel == []


def test_every_cell_can_be_run_twice_after_a_restart(seen: Rehearsal) -> None:
    assert seen.failed_cells == []


def test_a_cell_that_is_run_again_gives_the_same_verdicts(seen: Rehearsal) -> None:
    assert seen.other_verdicts == MENDS.get(seen.lesson, [])


def test_the_solution_passes_the_check_and_a_wrong_answer_does_not(seen: Rehearsal) -> None:
    assert "holds" in seen.right
    assert "violated" in seen.wrong


def test_nothing_outlives_a_kernel_that_ends(seen: Rehearsal) -> None:
    assert seen.left_by_a_kernel_that_ended == []


def test_no_file_is_left_but_workspaces_that_the_next_start_sweeps(seen: Rehearsal) -> None:
    assert seen.new_files == set()
    sweep()
    owners = [json.loads(path.read_text())["pid"] for path in WORKSPACES.glob("*/owner.json")]
    assert len(seen.pids) == 2
    assert not set(owners) & set(seen.pids)
