"""Local-first and runtime ownership: settings with which nothing leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from lab.check import Verdict
from lab.exercise import Exercise
from lab.fences import nothing_leaves


def _fenced(fence: Mapping[str, Any], flows: pd.DataFrame) -> Verdict:
    """`flows` are those of a server that was started with the leaky settings and `fence` on top."""
    if not isinstance(fence, Mapping):
        raise TypeError("the fence is a dict of settings")
    return nothing_leaves(flows)


EXERCISES: Final = (
    Exercise(
        name="08-1",
        claim="no flow leaves this machine",
        judge=_fenced,
        hints=(
            "Look at the table: each row that leaves begins with the variable that opened it.",
            "A setting in your dict replaces the whole one of the same name, a dict of variables too.",
            "The model here is at bench.model.url, and an empty environment has no proxy.",
        ),
    ),
)
