"""What one server lists, as the tools a model is offered. Nothing a server lists may break a model call."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcp.types import Tool as ListedTool
from pydantic import ValidationError

from sophos.tool import Tool
from sophos.tools.effects import Effects, effects_of, without_key
from sophos.tools.results import cut, safe
from sophos.tools.servers import SEPARATOR, Server

logger = logging.getLogger(__name__)

DESCRIPTION_LIMIT: Final = 4_000  # characters; each model call carries every description

# What MCP allows as a tool's name, and the signs some servers use besides.
_NAME: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One tool: as it is offered, and as its own server knows it."""

    tool: Tool
    own_name: str
    schema: Mapping[str, Any]
    effects: Effects


Catalogue = Mapping[str, Entry]
"""By the name the model uses, `server__tool`."""


def catalogue_of(server: Server, listed: Sequence[Any]) -> Catalogue:
    """Whatever of the list is usable. What is not is left out with a line in the log."""
    entries: dict[str, Entry] = {}
    for position, item in enumerate(listed):
        entry = _entry(server, item)
        if entry is None or entry.tool.name in entries:
            # Of two tools with one name the first stays: calls made before mean that one.
            logger.warning(
                "A listed tool was left out.",
                extra={
                    "server": server.name,
                    "position": position,
                    "reason": "not valid" if entry is None else "listed twice",
                },
            )
            continue
        entries[entry.tool.name] = entry
    return entries


def _entry(server: Server, item: Any) -> Entry | None:
    try:
        listed = ListedTool.model_validate(item)
    except ValidationError:
        return None
    schema = _object_schema(listed.inputSchema)
    if schema is None or not _NAME.fullmatch(listed.name):
        return None
    effects = effects_of(listed.annotations, schema)
    return Entry(
        tool=Tool(
            name=f"{server.name}{SEPARATOR}{listed.name}",
            description=cut(safe(listed.description or listed.title or ""), DESCRIPTION_LIMIT),
            schema=without_key(schema) if effects.keyed else schema,
            read_only=effects.read_only,
            idempotent=effects.idempotent or effects.keyed,
            destructive=effects.destructive,
            needs_approval=effects.destructive or listed.name in server.approval,
        ),
        own_name=listed.name,
        schema=schema,
        effects=effects,
    )


def _object_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in the only shape a model can be offered: an object with named properties."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if schema.get("type", "object") != "object" or not isinstance(properties, Mapping):
        return None
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return None
    # `true` is a schema too, one that allows everything. The model library knows only objects.
    shaped = {
        name: value if isinstance(value, Mapping) else {} for name, value in properties.items()
    }
    return {**schema, "type": "object", "properties": shaped}
