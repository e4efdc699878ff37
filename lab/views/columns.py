"""How wide each column of a drawing is, so that the whole is no wider than a page has room for.

A column is what lies between one moment and the next. Each begins as narrow as it may be; what is
left is spent on those who want room for their words, the first first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

NARROW: Final = 20.0  # pixels: two digits
LEAST: Final = 8.0  # for so many columns that they do not fit: room for a mark
BROAD: Final = 190.0  # as much as one may have


@dataclass(frozen=True, kw_only=True)
class Want:
    """What is drawn over the columns `first` to `last`, the last one left out, and its pixels."""

    first: int
    last: int
    pixels: float


def widths(count: int, room: float, wants: Iterable[Want]) -> list[float]:
    """As many pixels for each column. Their sum is `room` or less, unless all are at their least."""
    least = max(min(NARROW, room / max(count, 1)), LEAST)
    given = [least] * count
    rest = room - sum(given)
    for want in wants:
        columns = range(want.first, min(want.last, count))
        lacks = min(want.pixels, BROAD) - sum(given[n] for n in columns)
        share = min(lacks, rest)
        if columns and share > 0:
            rest -= share
            for n in columns:
                given[n] += share / len(columns)
    return given
