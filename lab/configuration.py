"""The lab's own mcp.json and system.md: the project's, with what is there for breaking things.

The Fetch server may see the lab's site, and there is the task tracker. Written into the workspace,
where a lesson may change them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from lab.workspace import PROJECT, Workspace

# The lab's web site listens on loopback, which the Fetch server refuses unless it is told so.
# Nowhere else: a page that the model reads could then have it fetch from this machine's services.
ALLOW_LOOPBACK: Final = "--allow-private-ips"
TRACKER: Final = "tasks"
_FOLDER: Final = "${CONFIG_DIR}"


def write_configuration(
    workspace: Workspace,
    project: Path = PROJECT / "config",
    *,
    tools: Collection[str] | None = None,
) -> None:
    """Copy the project's configuration, with every place in it made absolute.

    `tools` names the servers that are wanted: the project's, and `tasks`, which is the tracker; all
    of the project's and no tracker unless given. Raises ValueError for one that there is not.
    """
    shutil.copy(project / "system.md", workspace.config)
    text = (project / "mcp.json").read_text(encoding="utf-8")
    # What was said relative to the project's folder is still meant so.
    configuration = json.loads(text.replace(_FOLDER, json.dumps(str(project))[1:-1]))
    servers = configuration.get("mcpServers", configuration)
    if tools is not None:
        _choose(servers, tools, workspace)
    for name, server in servers.items():
        if isinstance(server, dict) and "command" in server:
            server.update(_absolute(server, project))
            if name == "fetch":
                server["args"] = [*server.get("args", []), ALLOW_LOOPBACK]
    changed = json.dumps(configuration, indent=2)
    (workspace.config / "mcp.json").write_text(changed + "\n", encoding="utf-8")


def _choose(servers: dict[str, Any], tools: Collection[str], workspace: Workspace) -> None:
    servers[TRACKER] = {
        "command": sys.executable,
        "args": ["-m", "lab.tasks", "--database", str(workspace.tasks)],
        "cwd": str(PROJECT),
    }
    if unknown := sorted(set(tools) - set(servers)):
        raise ValueError(
            f"There is no tool server {', '.join(unknown)}. There are {', '.join(sorted(servers))}."
        )
    for name in set(servers) - set(tools):
        del servers[name]


def _absolute(server: dict[str, Any], folder: Path) -> dict[str, str]:
    """Where the server runs and what it runs, when the file they were relative to has moved."""
    # Joined and not resolved: a virtual environment's python is known by the link it is.
    command = server["command"]
    if "/" in command:
        command = os.path.abspath(folder / command)  # noqa: PTH100
    return {"command": command, "cwd": os.path.abspath(folder / server.get("cwd", "."))}  # noqa: PTH100
