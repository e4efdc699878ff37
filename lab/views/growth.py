"""What is stored by turn, for several ways of storing, as lines on one pair of axes.

Colour is never alone: each way has a mark of its own on its line and its name at the line's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

import pandas as pd

from lab.display import lines
from lab.views.view import View, plain

WIDTH: Final = 420  # pixels of the axes
HEIGHT: Final = 200
LEFT: Final = 70  # pixels for the labels at the left, and below
BELOW: Final = 44
ABOVE: Final = 30
RIGHT: Final = 170  # pixels for the names of the lines
MARK: Final = 4
TICKS: Final = 4
_COLOURS: Final = ("#b86e00", "#5b7fb5", "#7d6bb0", "#388e3c")


def growth(frame: pd.DataFrame, title: str, *, unit: str) -> View:
    """`frame` is `data`: the first column along the axis, each other one a line. Whole numbers."""
    along, *ways = map(str, frame.columns)
    told = [f"{way}: from {frame[way].iloc[0]} to {frame[way].iloc[-1]} {unit}" for way in ways]
    described = f"By {along}, from {frame[along].iloc[0]} to {frame[along].iloc[-1]}. " + "; ".join(
        told
    )
    return View(
        data=frame,
        text=lines(f"{title} ({unit})", *(f"  {line}" for line in plain(frame).splitlines())),
        html=_drawn(frame, title, f"{described}.", unit),
    )


def _drawn(frame: pd.DataFrame, title: str, described: str, unit: str) -> str:
    along, *ways = map(str, frame.columns)
    most = _round_up(max(int(frame[way].max()) for way in ways))
    first, last = int(frame[along].iloc[0]), int(frame[along].iloc[-1])

    def x(value: float) -> float:
        return round(LEFT + WIDTH * (value - first) / ((last - first) or 1), 1)

    def y(value: float) -> float:
        return round(ABOVE + HEIGHT * (1 - value / most), 1)

    parts = [f"<title>{escape(title)}</title><desc>{escape(described)}</desc>"]
    parts.append(_text(LEFT, 14, title, bold=True))
    for step in range(TICKS + 1):
        value = most * step // TICKS
        parts.append(
            f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(value)}" y2="{y(value)}"'
            ' stroke="currentColor" stroke-opacity=".15"/>'
        )
        parts.append(_text(LEFT - 8, y(value) + 4, str(value), anchor="end"))
    parts += [
        _text(x(int(value)), ABOVE + HEIGHT + 18, str(value), anchor="middle")
        for value in frame[along]
    ]
    parts.append(_text(LEFT + WIDTH / 2, ABOVE + HEIGHT + 38, along, anchor="middle"))
    middle = ABOVE + HEIGHT / 2
    parts.append(
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{escape(unit)}</text>'
    )
    for number, way in enumerate(ways):
        points = [(x(int(a)), y(int(b))) for a, b in zip(frame[along], frame[way], strict=True)]
        parts.append(_line(number, way, points))
    width, height = LEFT + WIDTH + RIGHT, ABOVE + HEIGHT + BELOW
    return (
        f'<div style="overflow-x:auto"><svg xmlns="http://www.w3.org/2000/svg" role="img"'
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' style="color:var(--jp-content-font-color1, inherit);max-width:none"'
        f' font-family="var(--jp-ui-font-family, sans-serif)" font-size="12"'
        f' fill="currentColor">{"".join(parts)}</svg></div>'
    )


def _line(number: int, way: str, points: Sequence[tuple[float, float]]) -> str:
    colour = _COLOURS[number % len(_COLOURS)]
    path = " ".join(f"{a},{b}" for a, b in points)
    dashes = ' stroke-dasharray="6 3"' if number % 2 else ""
    marks = "".join(_mark(number, a, b, colour) for a, b in points)
    end = points[-1]
    return (
        f'<g><polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
        f"{marks}{_text(end[0] + 12, end[1] + 4, way)}</g>"
    )


def _mark(number: int, x: float, y: float, colour: str) -> str:
    if number % 2:
        side = 2 * MARK
        return f'<rect x="{x - MARK:.1f}" y="{y - MARK:.1f}" width="{side}" height="{side}" fill="{colour}"/>'
    return f'<circle cx="{x}" cy="{y}" r="{MARK}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _round_up(most: int) -> int:
    """The next multiple of four times 1, 2 or 5 and zeros, so that each tick is a whole number."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if TICKS * factor * step >= most:
                return TICKS * factor * step
        step *= 10
