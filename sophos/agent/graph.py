"""The graph, and the only way to drive and to read a thread.

  START ──► agent ──► END
            │   ▲
a Send for  ▼   │  the results, when
each call  tools    every call has ended
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.errors import GraphDrained, GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import RunControl

from sophos.agent.channel import DeltaThread, FullThread, merged
from sophos.agent.history import abandoned, ordered
from sophos.agent.nodes import Nodes, RunContext
from sophos.agent.translate import Narrator, to_message
from sophos.conversation import Checkpoint, Message
from sophos.errors import RecursionLimit, reading_record
from sophos.events import RunEvent
from sophos.protections import Protection, Protections

_RUN_METADATA: Final = "run_id"


Owed = tuple[str, str]
"""A message that was accepted and has not reached its thread: the run that brought it, its text."""


class Agent:
    """Drives threads and reads them. Keeps no state of its own: all of it is in the saver."""

    def __init__(
        self, nodes: Nodes, saver: BaseCheckpointSaver[str], *, recursion_limit: int
    ) -> None:
        self._protections = nodes.protections
        self._failpoints = nodes.failpoints
        self._model = nodes.model
        self._tools = nodes.tools
        self._saver = saver
        self._recursion_limit = recursion_limit
        on = self._protections.on
        delta = on(Protection.DELTA_CHECKPOINTS)
        self._durability = _durability(self._protections)
        graph = StateGraph(DeltaThread if delta else FullThread, context_schema=RunContext)
        graph.add_node("agent", nodes.agent)
        graph.add_node("tools", nodes.call_tools)
        graph.add_edge(START, "agent")
        graph.add_conditional_edges("agent", nodes.after_agent, ["tools", END])
        graph.add_edge("tools", "agent")
        self._graph: Any = graph.compile(checkpointer=saver)

    def narrator(self, publish: Callable[[RunEvent], None]) -> Narrator:
        """Who tells what a run does: to be handed to `drive`, and to the saver as its observer."""
        return Narrator(publish, self._failpoints)

    async def probe(self) -> str | None:
        """None if the model would answer, otherwise what is wrong and what to do."""
        return await self._model.probe()

    def tool_troubles(self) -> Mapping[str, str]:
        """Why each tool server that is needed and cannot be used now cannot."""
        return self._tools.troubles()

    def control(self) -> RunControl:
        """The handle by which a drive is asked to stop at its next step boundary."""
        return RunControl()

    async def drive(
        self,
        *,
        thread: str,
        run: str,
        owed: Sequence[Owed],
        narrator: Narrator,
        control: RunControl,
    ) -> int | None:
        """Move the thread on until nothing is left: by what it is owed, else by its pending step.

        The thread's message count at its end; None if it stopped at a step boundary, as asked to.
        Raises RecursionLimit, and what the nodes raise.
        """
        config = {
            "configurable": {"thread_id": thread},
            "metadata": {_RUN_METADATA: run},
            "recursion_limit": self._recursion_limit,
        }
        with reading_record():
            given = {"messages": await self._input(thread, run, owed)} if owed else None
        messages = 0
        try:
            async for state in self._graph.astream(
                given,
                config,
                context=RunContext(run=run, thread=thread, narrator=narrator),
                stream_mode="values",
                durability=self._durability,
                control=control,
            ):
                messages = len(state.get("messages", ()))
        except GraphDrained:
            return None
        except GraphRecursionError as error:
            raise RecursionLimit(
                f"The run used its {self._recursion_limit} steps."
                " Resume to grant it as many again, or raise AGENT_RECURSION_LIMIT."
            ) from error
        return messages

    async def messages(self, thread: str) -> list[Message]:
        """The record of a thread: finished work of a pending step included."""
        with reading_record():
            return [to_message(message) for message in ordered(await self._applied(thread))]

    async def checkpoints(
        self, history: AsyncIterator[tuple[CheckpointTuple, tuple[str, ...]]]
    ) -> AsyncIterator[Checkpoint]:
        """A thread's checkpoints in the order of `history`: oldest first, with pending nodes."""
        states: dict[str | None, list[BaseMessage]] = {}
        async for found, pending in history:
            parent = _parent_id(found)
            with reading_record():
                state = _own_state(found)
                if state is None:
                    state = states.get(parent, [])
                states[_id(found)] = merged(state, _pending_messages(found))
                summary = _summary(found, parent, pending, state)
            yield summary

    async def _applied(self, thread: str) -> list[BaseMessage]:
        # First what waits to be applied: between the two, a step may apply it.
        found = await self._saver.aget_tuple({"configurable": {"thread_id": thread}})
        waiting = _unapplied_input(found) if found is not None else []
        snapshot = await self._graph.aget_state({"configurable": {"thread_id": thread}})
        return merged(snapshot.values.get("messages", []), [waiting])

    async def _input(self, thread: str, run: str, owed: Sequence[Owed]) -> list[BaseMessage]:
        """The owed messages, and before them what LangGraph would drop for a new input.

        That is: an input that was saved and not applied, the finished work of an abandoned step,
        and, so that the history stays valid, an error result for each of its unfinished calls.
        Everything has the id it had, so giving it once more changes nothing.
        """
        found = await self._saver.aget_tuple({"configurable": {"thread_id": thread}})
        given: list[BaseMessage] = []
        if found is not None:
            given += _unapplied_input(found)
            given += merged([], _pending_messages(found))
            # A thread with nothing pending has nothing abandoned, and need not be read for it.
            pending = found.checkpoint["channel_values"].keys() - {"messages"}
            if pending and self._protections.on(Protection.HISTORY_REPAIR):
                given += abandoned(await self._applied(thread), run=run)
        given += [
            HumanMessage(id=bringer, content=text, additional_kwargs={"run": bringer})
            for bringer, text in owed
        ]
        return given


def _durability(protections: Protections) -> str:
    """When LangGraph saves a step: before the next one starts, beside it, or as the run ends."""
    if not protections.on(Protection.SYNC_DURABILITY):
        return "exit"
    return "sync" if protections.on(Protection.STEP_WAITS) else "async"


def _id(found: CheckpointTuple) -> str:
    return str(found.config["configurable"]["checkpoint_id"])


def _parent_id(found: CheckpointTuple) -> str | None:
    return found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None


def _own_state(found: CheckpointTuple) -> list[BaseMessage] | None:
    kept = found.checkpoint["channel_values"].get("messages")
    return kept.value if isinstance(kept, _DeltaSnapshot) else kept


def _unapplied_input(found: CheckpointTuple) -> list[BaseMessage]:
    start = found.checkpoint["channel_values"].get(START) or {}
    return list(start.get("messages", []))


def _pending_messages(found: CheckpointTuple) -> list[Any]:
    return [value for _, channel, value in found.pending_writes or () if channel == "messages"]


def _summary(
    found: CheckpointTuple,
    parent: str | None,
    pending: tuple[str, ...],
    state: list[BaseMessage],
) -> Checkpoint:
    return Checkpoint(
        checkpoint_id=_id(found),
        parent_id=parent,
        step=found.metadata.get("step", 0),
        source=found.metadata.get("source", "loop"),
        next=pending,
        run=found.metadata.get(_RUN_METADATA),
        message_count=len(state),
        created_at=found.checkpoint["ts"],
        last_message=to_message(state[-1]) if state else None,
    )
