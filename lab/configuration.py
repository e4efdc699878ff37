"""The lab's own mcp.json and system.md: the project's, and the Fetch server may see the lab's site.

Written into the workspace, where a lesson may change them.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

from lab.workspace import PROJECT, Workspace

# The lab's web site listens on loopback, which the Fetch server refuses unless it is told so.
# Nowhere else: a page that the model reads could then have it fetch from this machine's services.
ALLOW_LOOPBACK: Final = "--allow-private-ips"
_FOLDER: Final = "${CONFIG_DIR}"


def write_configuration(workspace: Workspace, project: Path = PROJECT / "config") -> None:
    """Copy the project's configuration, with every place in it made absolute."""
    shutil.copy(project / "system.md", workspace.config)
    text = (project / "mcp.json").read_text(encoding="utf-8")
    # What was said relative to the project's folder is still meant so.
    configuration = json.loads(text.replace(_FOLDER, json.dumps(str(project))[1:-1]))
    for name, server in configuration.get("mcpServers", configuration).items():
        if isinstance(server, dict) and "command" in server:
            server.update(_absolute(server, project))
            if name == "fetch":
                server["args"] = [*server.get("args", []), ALLOW_LOOPBACK]
    changed = json.dumps(configuration, indent=2)
    (workspace.config / "mcp.json").write_text(changed + "\n", encoding="utf-8")


def _absolute(server: dict[str, Any], folder: Path) -> dict[str, str]:
    """Where the server runs and what it runs, when the file they were relative to has moved."""
    # Joined and not resolved: a virtual environment's python is known by the link it is.
    command = server["command"]
    if "/" in command:
        command = os.path.abspath(folder / command)  # noqa: PTH100
    return {"command": command, "cwd": os.path.abspath(folder / server.get("cwd", "."))}  # noqa: PTH100
