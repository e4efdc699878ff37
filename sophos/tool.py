"""A tool and what a call of it gave, as plain values: what `agent` and `tools` say to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool as the model is offered it.

    `name` is `server__tool`; `schema` is its JSON Schema without what the runtime fills itself.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool = False
    idempotent: bool = False
    destructive: bool = False
    needs_approval: bool = False


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What the model reads as the outcome of a call: text, whatever the tool returned."""

    text: str
    status: Literal["success", "error"]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """The tools there are now, sorted by name, and a note for each optional server left out."""

    tools: Sequence[Tool]
    notes: Sequence[str] = ()


class Tools(Protocol):
    """What the agent may touch. Nothing is connected before the first use."""

    async def begin(self) -> None:
        """Begin to connect, for an offer that is about to be asked for.

        Waits for no server, and raises nothing: what goes wrong is told by the offer.
        """
        ...

    async def offer(self) -> Offer:
        """List the tools, connecting what is not connected yet.

        Raises ToolsUnavailable naming the server when one that is not optional cannot be reached.
        """
        ...

    async def call(self, name: str, args: Mapping[str, Any], *, key: str) -> ToolResult:
        """Call one tool. `key` is the same whenever the same call is made again.

        Whatever goes wrong with the tool is an error result; only cancellation is raised.
        """
        ...

    def troubles(self) -> Mapping[str, str]:
        """Why each server that is needed and cannot be used now cannot. Connects nothing."""
        ...
