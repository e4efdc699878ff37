"""What the graph's nodes do: ask the model; call one tool; decide where next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langgraph.config import get_config
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import Send

from sophos.agent.history import for_model, result_id
from sophos.agent.model import Model
from sophos.agent.prompt import read_prompt
from sophos.agent.translate import Narrator
from sophos.conversation import ToolCall
from sophos.failpoints import Failpoints, Point
from sophos.protections import Protection, Protections
from sophos.tool import Tools


class ThreadState(TypedDict):
    """The state of a thread, as nodes see it. How it is kept is the graph's business."""

    messages: list[BaseMessage]


class CallState(TypedDict):
    """What one `Send` carries to the tools node: the calls it is to make, as LangChain's dicts."""

    calls: list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What a run brings along. Nothing of it is checkpointed."""

    run: str
    thread: str
    narrator: Narrator


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The two nodes and the edge between them."""

    model: Model
    num_ctx: int
    tools: Tools
    prompt_path: Path
    failpoints: Failpoints
    protections: Protections

    async def agent(
        self, state: ThreadState, *, runtime: Runtime[RunContext]
    ) -> dict[str, list[BaseMessage]]:
        """Ask the model once; its whole reply is the step's output."""
        context, step = runtime.context, _step()
        context.narrator.enter(step, "agent")
        offer = await self.tools.offer()
        for note in offer.notes:
            context.narrator.note(step, "agent", note)
        prompt = read_prompt(self.prompt_path)
        sent, left_out = for_model(state["messages"], prompt=prompt, num_ctx=self.num_ctx)
        if left_out:
            context.narrator.note(
                step, "agent", f"{left_out} older messages did not fit and were not sent."
            )
        message_id = f"{context.run}/{step}"
        tokens = 0

        def on_piece(text: str, kind: Literal["answer", "reasoning"]) -> None:
            nonlocal tokens
            context.narrator.token(step, message_id, text, kind)
            tokens += 1
            if self.failpoints.armed:
                self.failpoints.hit(Point.AGENT_STREAMING, kind, tokens)

        if self.failpoints.armed:
            self.failpoints.hit(Point.AGENT_ASKING, str(step))
        reply = await self.model.reply(
            [SystemMessage(prompt), *sent],
            offer.tools,
            message_id=message_id,
            run=context.run,
            on_piece=on_piece,
        )
        if self.failpoints.armed:
            self.failpoints.hit(Point.AGENT_ANSWERED, str(step))
        return {"messages": [reply]}

    async def call_tools(
        self, state: CallState, *, runtime: Runtime[RunContext]
    ) -> dict[str, list[BaseMessage]]:
        """Make the calls this task was sent: one, while every call is a task of its own."""
        context, step = runtime.context, _step()
        context.narrator.enter(step, "tools")
        calls = [
            ToolCall(id=call["id"], name=call["name"], args=call["args"]) for call in state["calls"]
        ]
        results = await asyncio.gather(*(self._call(call, step, context) for call in calls))
        if not self.protections.on(Protection.SYNC_DURABILITY):
            # Nothing will be on disk before the run ends, so it is announced unrecorded.
            for result in results:
                context.narrator.result(result)
        return {"messages": list(results)}

    def after_agent(self, state: ThreadState) -> Sequence[Send] | str:
        """To the tools if the model asked for any, each call on its own; otherwise to the end."""
        last = state["messages"][-1]
        if not isinstance(last, AIMessage) or not last.tool_calls:
            return END
        if not self.protections.on(Protection.CALL_TASKS):
            return [Send("tools", {"calls": last.tool_calls})]
        return [Send("tools", {"calls": [call]}) for call in last.tool_calls]

    async def _call(self, call: ToolCall, step: int, context: RunContext) -> ToolMessage:
        context.narrator.call(step, call)
        if self.failpoints.armed:
            self.failpoints.hit(Point.TOOL_CALLING, call.name)
        result = await self.tools.call(call.name, call.args, key=f"{context.thread}:{call.id}")
        if self.failpoints.armed:
            self.failpoints.hit(Point.TOOL_RETURNED, call.name)
        return ToolMessage(
            id=result_id(call.id),
            tool_call_id=call.id,
            name=call.name,
            content=result.text,
            status=result.status,
            additional_kwargs={"run": context.run},
        )


def _step() -> int:
    return int(get_config()["metadata"]["langgraph_step"])
