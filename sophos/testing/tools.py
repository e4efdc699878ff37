"""A double of the tools: Python callables in place of tool servers.

    tools = ScriptedTools(
        scripted("lab__add", lambda args: str(args["a"] + args["b"]), read_only=True),
        scripted("lab__fail", ToolResult(text="No.", status="error")),
    )

It keeps the promises of `sophos.tool.Tools`: whatever an action does is a result, an unknown name is
an error result, and only cancellation is raised. Nothing is durable: it dies with the process.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sophos.errors import ToolsUnavailable
from sophos.tool import Offer, Tool, ToolResult

Outcome = str | ToolResult
Action = Callable[[Mapping[str, Any]], Outcome | Awaitable[Outcome]]


@dataclass(frozen=True, kw_only=True)
class ScriptedTool:
    """A tool, and what a call of it does. An action that raises has failed, with its message."""

    tool: Tool
    action: Action


@dataclass(frozen=True, kw_only=True)
class Called:
    """One call as it came in. `key` is the same whenever the same call is made again."""

    name: str
    args: Mapping[str, Any]
    key: str


def scripted(name: str, does: Action | Outcome, **facts: Any) -> ScriptedTool:
    """A tool that does something, or that always gives one outcome; `facts` are Tool's fields."""
    schema = facts.pop("schema", {"type": "object", "properties": {}})
    tool = Tool(name=name, description=facts.pop("description", name), schema=schema, **facts)
    return ScriptedTool(tool=tool, action=does if callable(does) else lambda _: does)


class ScriptedTools:
    """`calls` and `offers` are what was asked of it. While `unavailable` is set, offers fail."""

    def __init__(
        self, *tools: ScriptedTool, notes: Sequence[str] = (), unavailable: str | None = None
    ) -> None:
        self.tools = {tool.tool.name: tool for tool in tools}
        self.notes = notes
        self.unavailable = unavailable
        self.calls: list[Called] = []
        self.offers = 0

    async def begin(self) -> None:
        pass

    async def offer(self) -> Offer:
        self.offers += 1
        if self.unavailable is not None:
            raise ToolsUnavailable(self.unavailable)
        return Offer(
            tools=[self.tools[name].tool for name in sorted(self.tools)], notes=tuple(self.notes)
        )

    def troubles(self) -> Mapping[str, str]:
        return {"scripted": self.unavailable} if self.unavailable is not None else {}

    async def call(self, name: str, args: Mapping[str, Any], *, key: str) -> ToolResult:
        self.calls.append(Called(name=name, args=dict(args), key=key))
        if name not in self.tools:
            return ToolResult(text=f"There is no tool {name}.", status="error")
        try:
            json.dumps(args, allow_nan=False)
            outcome = self.tools[name].action(args)
            if inspect.isawaitable(outcome):
                outcome = await outcome
        except Exception as error:  # noqa: BLE001 - as with a real server, any failure is a result
            return ToolResult(text=str(error) or type(error).__name__, status="error")
        if isinstance(outcome, ToolResult):
            return outcome
        return ToolResult(text=outcome, status="success")
