"""Workspaces are never shared and never emptied in use; what a dead owner left is swept."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from lab.facts import until
from lab.tree import Record, birth
from lab.workspace import Workspace, make_workspace, sweep

OWNER = """
import pathlib, subprocess, sys
from lab.tree import Record, birth
from lab.workspace import make_workspace
workspace = make_workspace("06", pathlib.Path(sys.argv[1]))
left = subprocess.Popen([sys.executable, "-ISc", "import time; time.sleep(600)"])
Record(name="server", start=1, pid=left.pid, born=birth(left.pid), created=0).save(workspace.processes)
print(left.pid, flush=True)
sys.stdin.read()
"""


def abandoned(root: Path) -> psutil.Process:
    """Leave a workspace whose owner was killed and whose process lives on; that process."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(root)], stdin=-1, stdout=-1, text=True
    ) as owner:
        assert owner.stdout is not None
        leftover = psutil.Process(int(owner.stdout.readline()))
        owner.kill()
    return leftover


def test_each_workspace_has_a_directory_of_its_own(tmp_path: Path) -> None:
    names = [make_workspace("06", tmp_path).directory.name for _ in range(2)]
    assert names == ["06-1", "06-2"]


def test_workspaces_made_at_once_never_collide(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: make_workspace("06", tmp_path), range(24)))
    assert len({workspace.directory for workspace in made}) == 24
    assert all(workspace.config.is_dir() for workspace in made)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        workspace.directory.name for workspace in made
    )


def test_a_dead_owner_s_workspace_goes_with_the_process_it_left(tmp_path: Path) -> None:
    leftover = abandoned(tmp_path)
    mine = make_workspace("07", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [mine.directory.name]
    until(lambda: birth(leftover.pid) is None, what="the end of the leftover")


def test_a_live_owner_s_workspace_stays(tmp_path: Path) -> None:
    mine = make_workspace("06", tmp_path)
    assert sweep(tmp_path) == []
    assert mine.directory.is_dir()


def test_what_is_no_workspace_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "answers.sqlite").touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "owner.json").write_text("{")
    assert sweep(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 3


def test_a_reused_pid_is_not_taken_for_the_owner_or_for_a_leftover(tmp_path: Path) -> None:
    me = psutil.Process().pid
    workspace = make_workspace("06", tmp_path)
    Record(name="server", start=1, pid=me, born="1", created=0).save(workspace.processes)
    (workspace.directory / "owner.json").write_text(json.dumps({"pid": me, "born": "1"}))
    assert sweep(tmp_path) == ["06-1"]


def test_a_draft_of_a_dead_owner_goes(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-ISc", ""]) as ended:
        pass
    (tmp_path / f".draft-{ended.pid}-0").mkdir()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a b"])
def test_a_name_that_is_no_directory_of_the_root_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="names a directory"):
        make_workspace(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_records_come_back_in_the_order_of_their_starts(tmp_path: Path) -> None:
    workspace = Workspace(directory=tmp_path)
    workspace.processes.mkdir()
    me = psutil.Process().pid
    born = birth(me)
    assert born is not None
    for start in (10, 9):
        Record(name="server", start=start, pid=me, born=born, created=0).save(workspace.processes)
    assert [record.label for record in workspace.records()] == ["server#9", "server#10"]
    assert workspace.records()[0].is_alive


def test_a_path_outside_is_not_held(tmp_path: Path) -> None:
    workspace = make_workspace("06", tmp_path)
    assert workspace.holds(Path("db/other.db"))
    assert not workspace.holds(Path("../06-2/db/sophos.db"))
    assert not workspace.holds(Path("/etc/passwd"))
