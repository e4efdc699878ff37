"""The agent with its model, put together from plain settings.

Importing this module takes most of a second: runtime/lifecycle.py does it in a thread, while the
server answers already.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sophos.agent.graph import Agent
from sophos.agent.model import ModelOptions, open_model
from sophos.agent.nodes import Nodes
from sophos.failpoints import Failpoints
from sophos.protections import Protection
from sophos.runtime.configuration import PROMPT_FILE
from sophos.settings import Settings
from sophos.storage.checkpoints import Checkpoints
from sophos.tool import Tools


@asynccontextmanager
async def open_agent(
    settings: Settings, checkpoints: Checkpoints, failpoints: Failpoints, tools: Tools
) -> AsyncIterator[Agent]:
    """The agent with `tools`; its model's connections end when this closes."""
    options = ModelOptions(
        host=settings.ollama_host,
        name=settings.ollama_model,
        think=settings.ollama_think,
        num_ctx=settings.ollama_num_ctx,
        first_token_timeout=settings.model_first_token_timeout,
        token_timeout=settings.model_token_timeout,
        done_check=settings.protections.on(Protection.DONE_CHECK),
    )
    async with open_model(options) as model:
        nodes = Nodes(
            model=model,
            num_ctx=settings.ollama_num_ctx,
            tools=tools,
            prompt_path=settings.config_dir / PROMPT_FILE,
            failpoints=failpoints,
            protections=settings.protections,
        )
        yield Agent(nodes, checkpoints, recursion_limit=settings.recursion_limit)
