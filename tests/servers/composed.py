"""compose.yaml as an engine would start it: what runs, with what around it, with values filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml
from images import ROOT

FILE: Final = ROOT / "compose.yaml"
_VALUE: Final = re.compile(r"\$\{(?P<name>\w+)(?::(?P<how>[-?])(?P<text>[^}]*))?\}")


class ValueMissing(Exception):
    """An engine refuses the file: a variable must be set, and is not."""


def read_compose(values: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The file as it stands, or with `${NAME:-default}` and `${NAME:?complaint}` filled in."""
    document: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return document if values is None else _filled(document, values)


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, values) for inner in value]
    return (
        _VALUE.sub(lambda found: _value(found, values), value) if isinstance(value, str) else value
    )


def _value(found: re.Match[str], values: Mapping[str, str]) -> str:
    if values.get(found["name"]):
        return values[found["name"]]
    if found["how"] == "?":
        raise ValueMissing(found["text"])
    return found["text"] or ""
