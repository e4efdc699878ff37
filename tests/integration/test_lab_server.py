"""A bench's Sophos takes settings by name, and refuses what would break more than the bench."""

from pathlib import Path
from typing import Any

import pytest

from lab.process import ProcessError
from lab.server import Server
from lab.workspace import make_workspace
from sophos.errors import StartupError


def server(tmp_path: Path, **settings: Any) -> Server:
    return Server(make_workspace("06", tmp_path), settings)


@pytest.mark.parametrize("place", ["../../db/sophos.db", "/var/lib/sophos.db"])
def test_a_database_outside_the_workspace_is_refused(tmp_path: Path, place: str) -> None:
    with pytest.raises(ValueError, match="database_path must lie in"):
        server(tmp_path, database_path=place)
    with pytest.raises(ValueError, match="memory_file_path must lie in"):
        server(tmp_path).start(memory_file_path=place)


@pytest.mark.parametrize("name", ["ready_file", "owner_pipe", "failpoint_log"])
def test_what_the_bench_needs_itself_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=f"The bench itself sets {name}"):
        server(tmp_path, **{name: "x"})


def test_a_failpoint_that_does_not_exist_is_refused_when_it_is_armed(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"no point 'tool\.eaten'.*tool\.returned"):
        server(tmp_path).fail_at("tool.eaten")


def test_a_server_that_was_never_started_says_so(tmp_path: Path) -> None:
    never = server(tmp_path)
    assert never.state == "not started"
    with pytest.raises(ProcessError, match=r"server is not running\. Start it first"):
        _ = never.url
    never.kill()


def test_waiting_for_a_point_that_is_not_armed_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ProcessError, match="Call fail_at, then start"):
        server(tmp_path).wait_for("tool.returned")
