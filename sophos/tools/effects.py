"""What a call of a tool may do to the world, and the key that makes a repeat of it harmless.

A server says this about its own tools, in annotations. They are hints: a server that lies about
being idempotent gets its tool called twice where an honest one would not.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.types import ToolAnnotations

from sophos.protections import Protection, Protections

KEY_PROPERTY: Final = "idempotency_key"


@dataclass(frozen=True, kw_only=True)
class Effects:
    """`keyed`: the tool takes a key and does the work of one key once."""

    read_only: bool
    idempotent: bool
    destructive: bool
    keyed: bool

    @property
    def repeatable(self) -> bool:
        """Whether a call whose outcome nobody knows may be made again without asking."""
        return self.read_only or self.idempotent or self.keyed


def effects_of(annotations: ToolAnnotations | None, schema: Mapping[str, Any]) -> Effects:
    """What the annotations promise. A promise not made is not assumed.

    MCP has `destructiveHint` default to true. Taken literally, every tool that says nothing about
    itself would stop every run for a person's approval, so only a tool that says so is destructive.
    One that claims to be both destructive and read-only is believed in what is worse.
    """
    said = annotations or ToolAnnotations()
    destructive = said.destructiveHint is True
    return Effects(
        read_only=said.readOnlyHint is True and not destructive,
        idempotent=said.idempotentHint is True,
        destructive=destructive,
        keyed=_takes_key(schema),
    )


def without_key(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema as the model is offered it: a key the model invents would protect nothing."""
    properties = {
        name: value for name, value in schema.get("properties", {}).items() if name != KEY_PROPERTY
    }
    offered = {**schema, "properties": properties}
    if "required" in schema:
        offered["required"] = [name for name in schema["required"] if name != KEY_PROPERTY]
    return offered


def key_for_attempt(key: str, protections: Protections) -> str:
    """The key to send: the call's own, the same at every attempt, also after a restart."""
    if not protections.on(Protection.IDEMPOTENCY_KEY):
        return uuid.uuid4().hex
    return key


def _takes_key(schema: Mapping[str, Any]) -> bool:
    properties = schema.get("properties")
    return isinstance(properties, Mapping) and KEY_PROPERTY in properties
