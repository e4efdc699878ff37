"""Who opens what, in which order, and closes it in reverse.

    opened                                     closed, last first
    the database, and the hold on its file     the runs: drained, every stream ended
    the saver, on a connection of its own      the tool servers and their children
    recovery                                   the saver
    the tools, the agent and its model         the database, and the hold on its file
    the registry of runs

The agent stack takes a second to import. It is imported while the server answers already: a run
that comes earlier waits for it, and so does whoever reads a thread. The tools come first, a third
of it: the tool servers of a run that is there already start while the rest is imported.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sophos import owner_pipe
from sophos.errors import AgentFailure, SophosError
from sophos.failpoints import Failpoints, freeze_self
from sophos.importing import uncollected
from sophos.runtime.configuration import check_configuration
from sophos.runtime.executor import Executor
from sophos.runtime.recovery import recover
from sophos.runtime.registry import Registry
from sophos.runtime.service import Runtime
from sophos.settings import Settings
from sophos.storage.checkpoints import Checkpoints
from sophos.storage.conversations import Conversations
from sophos.storage.record import open_record
from sophos.tool import Tools

if TYPE_CHECKING:
    from sophos.agent.graph import Agent

OpenTools = Callable[[Settings], AbstractAsyncContextManager[Tools]]
OpenAgent = Callable[
    [Settings, Checkpoints, Failpoints, Tools], "AbstractAsyncContextManager[Agent]"
]

logger = logging.getLogger(__name__)


@asynccontextmanager
async def open_runtime(settings: Settings, *, boot_id: str) -> AsyncIterator[Runtime]:
    """Open storage, recover, and hand out the runtime; drain and close everything in reverse.

    Raises StartupError, with nothing left open, if mcp.json, system.md or the database
    cannot be used.
    """
    check_configuration(settings)
    freeze = freeze_self if settings.owner_pipe is None else owner_pipe.freeze
    failpoints = Failpoints(settings.failpoints, settings.failpoint_log, freeze=freeze)
    protections = settings.protections
    async with AsyncExitStack() as opened:
        record = await opened.enter_async_context(
            open_record(settings.database_path, owner=boot_id, protections=protections)
        )
        recovered = await recover(record, protections=protections, now=now())
        stack = AgentStack(settings, record.checkpoints, failpoints)
        await opened.enter_async_context(stack.opened())
        executor = Executor(
            runs=record.runs,
            checkpoints=record.checkpoints,
            agent=stack.agent_of_a_run,
            failpoints=failpoints,
            protections=protections,
            max_attempts=settings.max_attempts,
            now=now,
        )
        registry = Registry(runs=record.runs, executor=executor, protections=protections)
        # Asked for before any run can be claimed: each of these is a dead process's.
        uncounted = await record.conversations.uncounted()
        registry.background(_recount(uncounted, stack.agent, record.conversations))
        runtime = Runtime(
            settings=settings,
            boot_id=boot_id,
            record=record,
            registry=registry,
            agent=stack.agent,
            recovered=recovered,
            failpoints=failpoints,
            now=now,
        )
        opened.push_async_callback(runtime.drain)
        yield runtime


class AgentStack:
    """The agent and its tools, imported and opened by one task while the server answers already."""

    def __init__(
        self, settings: Settings, checkpoints: Checkpoints, failpoints: Failpoints
    ) -> None:
        self._settings = settings
        self._checkpoints = checkpoints
        self._failpoints = failpoints
        self._tools: asyncio.Future[Tools] = asyncio.get_running_loop().create_future()
        self._ready: asyncio.Future[Agent] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()

    async def agent(self) -> Agent:
        """The agent, once it is there."""
        return await asyncio.shield(self._ready)

    async def agent_of_a_run(self) -> Agent:
        """As `agent`, for one who will use the tools: their servers start in the meantime."""
        if not self._ready.done():
            await (await asyncio.shield(self._tools)).begin()
        return await self.agent()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        keeper = asyncio.create_task(self._keep(), name="agent stack")
        try:
            yield
        finally:
            self._closing.set()
            await keeper

    async def _keep(self) -> None:
        # Tool sessions must be closed by the task that opened them: this one.
        try:
            open_tools = await asyncio.to_thread(_import_open_tools)
            async with open_tools(self._settings) as tools:
                self._tools.set_result(tools)
                open_agent = await asyncio.to_thread(_import_open_agent)
                opening = open_agent(self._settings, self._checkpoints, self._failpoints, tools)
                async with opening as agent:
                    self._ready.set_result(agent)
                    await self._closing.wait()
        except Exception as error:
            if self._ready.done():
                raise
            logger.exception("The agent could not be opened.")
            ours = error if isinstance(error, SophosError) else AgentFailure()
            for awaited in (self._tools, self._ready):
                if not awaited.done():
                    awaited.set_exception(ours)
                    awaited.exception()  # it is in the log, whether or not anybody waits for it


# The deferred imports of the runtime: MCP, LangGraph and LangChain take a second of CPU.


def _import_open_tools() -> OpenTools:
    with uncollected():
        from sophos.runtime.tool_stack import open_tools  # noqa: PLC0415

    return open_tools


def _import_open_agent() -> OpenAgent:
    with uncollected():
        from sophos.runtime.agent_stack import open_agent  # noqa: PLC0415

    return open_agent


async def _recount(
    uncounted: Sequence[str], agent: Callable[[], Awaitable[Agent]], conversations: Conversations
) -> None:
    """Set the message counts that a dead process did not: reading a thread takes the agent.

    If this process dies first, they are still uncounted, and the next one counts them.
    """
    for conversation in uncounted:
        try:
            messages = await (await agent()).messages(conversation)
            await conversations.recount(conversation, len(messages))
        except SophosError:
            # The count is of use in a list only, and the conversation's next run sets it.
            logger.warning(
                "A thread could not be counted.",
                extra={"conversation": conversation},
                exc_info=True,
            )


def now() -> str:
    """The time as the record keeps it: ISO-8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
