"""A value of a configuration file together with where it stands, so that every complaint names both."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

LONGEST_TIMEOUT: Final = 86_400  # seconds
_VARIABLE: Final = re.compile(r"\$(\$\{)|\$\{([^}]*)\}")


class Complaint(Exception):
    """What is wrong, and where in the file."""


def parse(text: str, variables: Mapping[str, str]) -> Place:
    """Read JSON more strictly than `json` does; raises Complaint."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Complaint(
            f"line {error.lineno}, column {error.colno}: this is not JSON ({error.msg})"
        ) from error
    except (RecursionError, ValueError) as error:
        raise Complaint("the file is nested too deeply, or has a number too long") from error
    return Place(value, "", variables)


@dataclass(frozen=True)
class Place:
    """`where` reads like `mcpServers.memory.args[0]`; every method raises Complaint."""

    value: Any
    where: str
    variables: Mapping[str, str]

    def complain(self, problem: str) -> Complaint:
        return Complaint(f"{self.where or 'the file'} {problem}")

    def members(self) -> dict[str, Place]:
        if not isinstance(self.value, dict):
            raise self.complain("must be an object, { … }")
        prefix = f"{self.where}." if self.where else ""
        return {
            key: Place(value, f"{prefix}{key}", self.variables) for key, value in self.value.items()
        }

    def items(self) -> list[Place]:
        if not isinstance(self.value, list):
            raise self.complain("must be a list, [ … ]")
        return [
            Place(value, f"{self.where}[{index}]", self.variables)
            for index, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """The string with `${NAME}` replaced, fit for a program's arguments and environment."""
        if not isinstance(self.value, str):
            raise self.complain("must be a string")
        text = _VARIABLE.sub(self._expand, self.value)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.complain("holds half a character") from error
        if "\0" in text:
            raise self.complain("must not hold a NUL character")
        return text

    def filled(self) -> str:
        text = self.text()
        if not text.strip():
            raise self.complain("must not be empty")
        return text

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.complain("must be true or false")
        return self.value

    def seconds(self) -> float:
        number = self.value
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise self.complain("must be a number of seconds")
        if not 0 < number <= LONGEST_TIMEOUT:
            raise self.complain(f"must be more than 0 and at most {LONGEST_TIMEOUT} seconds")
        return float(number)

    def _expand(self, found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        if found[2] not in self.variables:
            known = ", ".join(f"${{{name}}}" for name in sorted(self.variables))
            raise self.complain(f"uses ${{{found[2]}}}, but there is only {known or 'no variable'}")
        return self.variables[found[2]]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Complaint(f"the key {twice!r} stands twice in the same object")
    return members


def _no_constant(name: str) -> None:
    raise Complaint(f"{name} is not JSON")
