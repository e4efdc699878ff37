"""What a call sends: the model's arguments, in the shape the tool's schema asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sophos.tools.effects import KEY_PROPERTY

_TYPES: Final[tuple[tuple[str, type | tuple[type, ...]], ...]] = (
    ("boolean", bool),  # before the numbers: a bool is an int in Python
    ("integer", int),
    ("number", float),
    ("string", str),
    ("array", list),
    ("object", dict),
    ("null", type(None)),
)


class BadArguments(Exception):
    """The arguments cannot be sent. The message is for the model."""


def arguments_for(
    schema: Mapping[str, Any], args: Mapping[str, Any], key: str | None
) -> dict[str, Any]:
    """The arguments to send, with the idempotency key where the tool takes one.

    Raises BadArguments for what JSON cannot carry. What the schema forbids is left to the server,
    which knows best and says so in an error result.
    """
    properties = schema["properties"]
    shaped = {name: _shaped(properties.get(name, {}), value) for name, value in args.items()}
    if key is not None:
        shaped[KEY_PROPERTY] = key
    try:
        # The MCP library would send NaN as null, and end the whole session over half a character.
        json.dumps(shaped, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise BadArguments("they hold half a character (a lone surrogate)") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise BadArguments("they are not JSON") from error
    return shaped


def _shaped(schema: Mapping[str, Any], value: Any) -> Any:
    """`value`, or the same in the type the schema asks for.

    Models put JSON into strings and strings into JSON, and model libraries parse what merely looks
    like JSON. A value the schema allows is never touched: a string stays what it was, byte for byte.
    One it does not allow would be refused for certain, so it is converted where that loses nothing.
    """
    wanted = _wanted(schema)
    if not wanted or _type(value) in wanted or (_type(value) == "integer" and "number" in wanted):
        return value
    if "string" in wanted and value is not None:
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            return value
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if _type(parsed) in wanted or (_type(parsed) == "integer" and "number" in wanted):
            return parsed
    return value


def _wanted(schema: Mapping[str, Any]) -> set[str]:
    """The types a schema allows; empty if it does not say, or says it in a way not looked into."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return {declared}
    if isinstance(declared, list):
        return {name for name in declared if isinstance(name, str)}
    choices = schema.get("anyOf")
    if isinstance(choices, list) and all(isinstance(choice, Mapping) for choice in choices):
        each = [_wanted(choice) for choice in choices]
        return set().union(*each) if all(each) else set()
    return set()


def _type(value: Any) -> str | None:
    return next((name for name, python in _TYPES if isinstance(value, python)), None)
