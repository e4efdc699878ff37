"""A thread as LangGraph's two tables hold it: checkpoints, and the writes that stand on each.

Decoded with LangGraph's own serialiser and never written. With delta checkpoints a row holds only
what its step added: the messages of a step are its parent's and the parent's writes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Send

from lab.snapshot import Read

CHECKPOINTS: Final = """
    SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
    FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' ORDER BY checkpoint_id
"""
WRITES: Final = """
    SELECT checkpoint_id, task_id, task_path, channel, type, value
    FROM writes WHERE thread_id = ? AND checkpoint_ns = '' ORDER BY task_path, task_id, idx
"""
_BRANCH: Final = "branch:to:"
_INPUT: Final = "__start__"
_SENDS: Final = "__pregel_tasks"
_ERROR: Final = "__error__"
_PUSHED: Final = "~__pregel_push"

CallName = Callable[[str], str]
ById = dict[str | None, BaseMessage]


@dataclass(frozen=True, kw_only=True)
class StoredCheckpoint:
    """One row of `checkpoints`. `next` names the nodes that are to run on it."""

    id: str
    parent: str | None
    step: int
    source: str
    next: tuple[str, ...]
    run: str | None
    messages: int
    bytes: int
    at: str
    """When it was made: ISO-8601."""


@dataclass(frozen=True, kw_only=True)
class StoredWrite:
    """One row of `writes`: what a task of the step after `step` has finished.

    It is pending until a newer checkpoint holds it.
    """

    checkpoint: str
    step: int
    task: str
    task_id: str
    channel: str
    what: str
    bytes: int
    pending: bool


@dataclass(frozen=True, kw_only=True)
class Thread:
    """`states` are the messages at each of `checkpoints`, results beside their calls."""

    checkpoints: tuple[StoredCheckpoint, ...]
    states: tuple[tuple[BaseMessage, ...], ...]
    writes: tuple[StoredWrite, ...]


def read_thread(read: Read, thread: str, call_name: CallName) -> Thread:
    """Everything stored for a thread, oldest first. `call_name` gives a tool call's short name."""
    return _Reader(read, thread, call_name).thread()


class _Reader:
    def __init__(self, read: Read, thread: str, call_name: CallName) -> None:
        self._serialiser = JsonPlusSerializer()
        self._call_name = call_name
        self._rows = read("checkpoints", CHECKPOINTS, thread)
        self._writes: dict[str, list[tuple[sqlite3.Row, Any]]] = {}
        for row in read("writes", WRITES, thread):
            written = (row, self._load(row["type"], row["value"]))
            self._writes.setdefault(row["checkpoint_id"], []).append(written)

    def thread(self) -> Thread:
        checkpoints: list[StoredCheckpoint] = []
        writes: list[StoredWrite] = []
        parents = {row["parent_checkpoint_id"] for row in self._rows}
        states: list[tuple[BaseMessage, ...]] = []
        known: dict[str | None, ById] = {}
        for row in self._rows:
            checkpoint = self._load(row["type"], row["checkpoint"])
            values = checkpoint["channel_values"]
            metadata = json.loads(row["metadata"])
            own = values.get("messages")
            own = own.value if isinstance(own, _DeltaSnapshot) else own
            here = known.get(row["parent_checkpoint_id"], {}) if own is None else _by_id(own)
            states.append(_arranged(here.values()))
            checkpoints.append(
                StoredCheckpoint(
                    id=row["checkpoint_id"],
                    parent=row["parent_checkpoint_id"],
                    step=metadata["step"],
                    source=metadata.get("source", "loop"),
                    next=_next(values),
                    run=metadata.get("run_id"),
                    messages=len(here),
                    bytes=len(row["checkpoint"]) + len(row["metadata"]),
                    at=checkpoint["ts"],
                )
            )
            written = self._writes.get(row["checkpoint_id"], [])
            pending = row["checkpoint_id"] not in parents
            writes += [
                self._write(metadata["step"], values, write, value, pending=pending)
                for write, value in written
            ]
            added = [value for write, value in written if write["channel"] == "messages"]
            after = dict(here)
            for messages in added:
                after |= _by_id(messages)
            known[row["checkpoint_id"]] = after
        return Thread(checkpoints=tuple(checkpoints), states=tuple(states), writes=tuple(writes))

    def _write(
        self, step: int, values: Mapping[str, Any], row: sqlite3.Row, value: Any, *, pending: bool
    ) -> StoredWrite:
        return StoredWrite(
            checkpoint=row["checkpoint_id"],
            step=step,
            task=self._task(row["task_path"], values),
            task_id=row["task_id"],
            channel=row["channel"],
            what=self._what(row["channel"], value),
            bytes=len(row["value"] or b""),
            pending=pending,
        )

    def _task(self, path: str, values: Mapping[str, Any]) -> str:
        """`agent`; `tools: call 2` for a task of its own; `input` for what LangGraph applies itself."""
        kind, _, name = path.partition(", ")
        if kind != _PUSHED and kind.endswith(_PUSHED):
            # Saved as its run ended: the checkpoint it was sent from is not kept.
            return "a task of its own"
        if kind != _PUSHED:
            return "input" if name == _INPUT else name
        send = values[_SENDS][int(name.partition(",")[0])]
        return f"{send.node}: {self._calls(send)}"

    def _what(self, channel: str, value: Any) -> str:
        if channel == "messages":
            return "; ".join(map(self._message, value if isinstance(value, list) else [value]))
        if isinstance(value, Send):
            return f"{value.node} is to run {self._calls(value)}"
        if channel.startswith(_BRANCH):
            return f"{channel.removeprefix(_BRANCH)} is to run"
        return str(value) if channel == _ERROR else ""

    def _message(self, message: BaseMessage) -> str:
        match message:
            case ToolMessage():
                return f"result of {self._call_name(message.tool_call_id)}: {message.status}"
            case AIMessage() if message.tool_calls:
                calls = (f"{call['name']} ({self._call(call)})" for call in message.tool_calls)
                return "assistant asks for " + ", ".join(calls)
            case AIMessage():
                return "assistant answers"
            case HumanMessage():
                return "user message"
            case _:
                return message.type

    def _calls(self, send: Send) -> str:
        return ", ".join(map(self._call, send.arg["calls"]))

    def _call(self, call: Mapping[str, Any]) -> str:
        return self._call_name(call["id"])

    def _load(self, kind: str, value: bytes) -> Any:
        return self._serialiser.loads_typed((kind, value))


def _next(values: Mapping[str, Any]) -> tuple[str, ...]:
    nodes = {name.removeprefix(_BRANCH) for name in values if name.startswith(_BRANCH)}
    nodes |= {send.node for send in values.get(_SENDS) or ()}
    if _INPUT in values:
        nodes.add(_INPUT)
    return tuple(sorted(nodes))


def _by_id(messages: BaseMessage | Iterable[BaseMessage]) -> ById:
    every = [messages] if isinstance(messages, BaseMessage) else messages
    return {message.id: message for message in every}


def _arranged(messages: Iterable[BaseMessage]) -> tuple[BaseMessage, ...]:
    """The results of a message's calls stand after it, in the order of the calls."""
    messages = list(messages)
    results = {each.tool_call_id: each for each in messages if isinstance(each, ToolMessage)}
    arranged: list[BaseMessage] = []
    for message in messages:
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        if not isinstance(message, ToolMessage):
            own = (results.pop(str(call["id"]), None) for call in calls)
            arranged += [message, *(result for result in own if result is not None)]
    return (*arranged, *results.values())
