"""From LangGraph and LangChain to our words: messages, and what is published when.

Record first, then announce: a tool's result and the end of a step are published when the saver
says that they are on disk, so nothing a viewer was told of is ever done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from sophos.conversation import Message, ToolCall
from sophos.events import RunEvent, Token, Trace, TraceEvent
from sophos.failpoints import Failpoints, Point

PREVIEW: int = 2_000  # characters of a tool result that a trace carries


def to_message(message: BaseMessage) -> Message:
    """A message of the record as a plain value. Raises TypeError for one of a kind no run writes."""
    run = message.additional_kwargs.get("run")
    if isinstance(message, HumanMessage):
        return Message(id=message.id or "", role="user", content=message.text, run=run)
    if isinstance(message, ToolMessage):
        return Message(
            id=message.id or "",
            role="tool",
            content=message.text,
            run=run,
            name=message.name,
            tool_call_id=message.tool_call_id,
            status=message.status,
        )
    if not isinstance(message, AIMessage):
        raise TypeError(f"a thread cannot hold a {type(message).__name__}")
    return Message(
        id=message.id or "",
        role="assistant",
        content=message.text,
        run=run,
        reasoning=message.additional_kwargs.get("reasoning_content"),
        tool_calls=tuple(
            ToolCall(id=call["id"] or "", name=call["name"], args=call["args"])
            for call in message.tool_calls
        ),
    )


class Narrator:
    """Publishes what one run does, in order, and knows what has been said. Dies with the run."""

    def __init__(self, publish: Callable[[RunEvent], None], failpoints: Failpoints) -> None:
        self._publish = publish
        self._failpoints = failpoints
        self._nodes: dict[int, str] = {}
        self._calls: dict[str, tuple[int, str]] = {}
        self._input_pending = False

    @property
    def open_calls(self) -> Sequence[str]:
        """Names of the tools whose calls were announced and have no result yet."""
        return [name for _, name in self._calls.values()]

    def enter(self, step: int, node: str) -> None:
        if step not in self._nodes:
            self._nodes[step] = node
            self._trace(step, node, TraceEvent.ENTER, node, {})

    def note(self, step: int, node: str, text: str) -> None:
        self._trace(step, node, TraceEvent.NOTE, node, {"text": text})

    def token(
        self, step: int, message_id: str, text: str, kind: Literal["answer", "reasoning"]
    ) -> None:
        self._publish(Token(text=text, kind=kind, step=step, message_id=message_id))

    def call(self, step: int, call: ToolCall) -> None:
        self._calls[call.id] = (step, call.name)
        details = {"id": call.id, "name": call.name, "args": call.args}
        self._trace(step, "tools", TraceEvent.CALL, call.name, details)

    def result(self, message: ToolMessage) -> None:
        """Announce a tool's result, once."""
        known = self._calls.pop(message.tool_call_id, None)
        if known is None:
            return
        step, name = known
        details = {
            "id": message.tool_call_id,
            "status": message.status,
            "text": message.text[:PREVIEW],
            "characters": len(message.text),
        }
        self._trace(step, "tools", TraceEvent.RESULT, name, details)

    # What the saver tells: see storage/checkpoints.py.

    def writes_saved(self, writes: Sequence[tuple[str, Any]]) -> None:
        for channel, value in writes:
            if channel != "messages":
                continue
            for message in value if isinstance(value, list) else [value]:
                if isinstance(message, ToolMessage) and message.tool_call_id in self._calls:
                    if self._failpoints.armed:
                        self._failpoints.hit(Point.TOOL_RECORDED, message.name)
                    self.result(message)

    def checkpoint_saving(self, step: int) -> None:
        if self._failpoints.armed:
            self._failpoints.hit(Point.STEP_SAVING, str(step))

    def checkpoint_saved(self, step: int, source: str) -> None:
        if self._failpoints.armed:
            self._failpoints.hit(Point.STEP_SAVED, str(step))
            if self._input_pending:
                self._failpoints.hit(Point.INPUT_SAVED)
        self._input_pending = source == "input"
        node = self._nodes.pop(step, None)
        if node is not None:
            self._trace(step, node, TraceEvent.LEAVE, node, {})

    def _trace(
        self, step: int, node: str, event: TraceEvent, name: str, details: dict[str, Any]
    ) -> None:
        self._publish(Trace(step=step, node=node, event=event, event_name=name, details=details))
