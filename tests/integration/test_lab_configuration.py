"""The lab's configuration starts the project's tool servers from another folder."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lab.configuration import write_configuration
from lab.workspace import make_workspace

MEMORY = {"command": "../bin/node", "args": ["../memory/index.js"], "env": {"A": "${B}"}}
IN_FOLDER = {"command": "node", "env": {"PATH": "${CONFIG_DIR}/../bin"}}


def written(tmp_path: Path, *, servers: dict[str, Any]) -> dict[str, Any]:
    project = tmp_path / "project" / "config"
    project.mkdir(parents=True)
    (project / "system.md").write_text("You are Sophos.")
    (project / "mcp.json").write_text(json.dumps({"mcpServers": servers, "approval": ["x"]}))
    workspace = make_workspace("06", tmp_path / "lab")
    write_configuration(workspace, project)
    assert (workspace.config / "system.md").read_text() == "You are Sophos."
    read: dict[str, Any] = json.loads((workspace.config / "mcp.json").read_text())
    return read


def test_places_are_absolute_and_everything_else_is_the_project_s(tmp_path: Path) -> None:
    read = written(tmp_path, servers={"memory": MEMORY})
    assert read["approval"] == ["x"]
    assert read["mcpServers"]["memory"] == MEMORY | {
        "command": str(tmp_path / "project/bin/node"),
        "cwd": str(tmp_path / "project/config"),
    }


def test_the_configuration_s_folder_is_the_project_s_still(tmp_path: Path) -> None:
    read = written(tmp_path, servers={"fetch": IN_FOLDER})
    assert read["mcpServers"]["fetch"]["env"] == {"PATH": f"{tmp_path}/project/config/../bin"}


def test_a_command_s_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "project" / "bin").mkdir(parents=True)
    (tmp_path / "project" / "bin" / "node").symlink_to(os.devnull)
    read = written(tmp_path, servers={"memory": MEMORY})
    assert read["mcpServers"]["memory"]["command"] == str(tmp_path / "project/bin/node")


def test_a_bare_command_is_looked_up_as_before_and_a_remote_server_is_left_alone(
    tmp_path: Path,
) -> None:
    remote = {"url": "http://localhost:8080/mcp"}
    read = written(tmp_path, servers={"other": {"command": "node"}, "remote": remote})
    assert read["mcpServers"]["other"]["command"] == "node"
    assert read["mcpServers"]["remote"] == remote


def test_fetch_alone_may_reach_loopback(tmp_path: Path) -> None:
    fetch = {"command": "/x/python", "args": ["-m", "mcp_server_fetch"]}
    read = written(tmp_path, servers={"memory": MEMORY, "fetch": fetch})
    assert read["mcpServers"]["fetch"]["args"] == [*fetch["args"], "--allow-private-ips"]
    assert read["mcpServers"]["memory"]["args"] == MEMORY["args"]


def test_the_servers_that_are_named_are_there_and_no_other(tmp_path: Path) -> None:
    workspace = make_workspace("07", tmp_path)
    write_configuration(workspace, tools=("tasks", "fetch"))
    servers = json.loads((workspace.config / "mcp.json").read_text())["mcpServers"]
    assert set(servers) == {"tasks", "fetch"}
    assert str(workspace.tasks) in servers["tasks"]["args"]
    with pytest.raises(ValueError, match=r"no tool server taks\. There are fetch, memory, tasks"):
        write_configuration(workspace, tools=("taks",))
