"""The tools, put together from plain settings.

Importing this module takes a third of a second: runtime/lifecycle.py does it in a thread, before
the agent, so that tool servers can start meanwhile.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from sophos.settings import Settings
from sophos.tools.toolbox import Toolbox, open_toolbox


def open_tools(settings: Settings) -> AbstractAsyncContextManager[Toolbox]:
    """The tools; their servers are connected on first use and ended when this closes."""
    return open_toolbox(
        config_dir=settings.config_dir,
        memory_file=settings.memory_file_path,
        environment=settings.child_environment,
        tool_timeout=settings.tool_timeout,
        result_limit=settings.tool_result_limit,
        protections=settings.protections,
    )
