"""What CONFIG_DIR must hold for a start: checked before anything is opened, read again on each use.

A file that breaks later fails the runs that need it, and they are resumed once it is mended.
"""

from __future__ import annotations

from typing import Final

from sophos.agent.prompt import read_prompt
from sophos.errors import AgentFailure, StartupError, ToolsUnavailable
from sophos.settings import Settings
from sophos.tools.servers import FILE, read_servers, variables

PROMPT_FILE: Final = "system.md"


def check_configuration(settings: Settings) -> None:
    """Raise StartupError saying which file is missing or broken, where, and what to do."""
    folder = settings.config_dir
    try:
        read_prompt(folder / PROMPT_FILE)
        read_servers(folder / FILE, variables(folder, settings.memory_file_path))
    except (AgentFailure, ToolsUnavailable) as error:
        raise StartupError(error.message) from error
