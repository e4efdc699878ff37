"""A drawing of what lasted how long, lane by lane on one axis, as an SVG.

Colours are the page's own text colour and mid-tones that are legible on light and dark; each bar
has its words in it or beside it, and all of them as its title.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from lab.display import BAD

LANE: Final = 30  # pixels from one lane to the next
BAR: Final = 20
HEAD: Final = 26  # pixels above the first lane
NAMES: Final = 92  # pixels for the lanes' names
LETTER: Final = 6.0  # pixels of an average letter at the size that is used
SIZE: Final = 11
COLOURS: Final = {
    "process": "#5b7fb5",
    "run": "#7d6bb0",
    "step": "#388e3c",
    "stream": "#b86e00",
    "effect": "#a8557f",
    "freeze": "#3d8b9c",
}


@dataclass(frozen=True, kw_only=True)
class Bar:
    """From `start` to `end`, in pixels on the axis. `cut`: something ended it before its own end."""

    lane: str
    row: str
    text: str
    start: float
    end: float
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Cut:
    """What is drawn across all lanes."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Tick:
    at: float
    text: str


def draw(
    title: str,
    description: str,
    bars: Sequence[Bar],
    cuts: Sequence[Cut],
    ticks: Sequence[Tick],
) -> str:
    """An SVG that scrolls where it is too wide: shrunk, its words could not be read."""
    rows = list(dict.fromkeys(bar.row for bar in bars))
    end = max((bar.end for bar in bars), default=1.0)
    width = round(NAMES + end + 60)
    height = HEAD + LANE * len(rows) + 22
    parts = [f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"]
    for number, row in enumerate(rows):
        y = HEAD + LANE * number
        parts.append(_text(0, y + BAR - 6, row))
        parts.append(
            f'<line x1="{NAMES}" x2="{width}" y1="{y + BAR + 4}" y2="{y + BAR + 4}"'
            ' stroke="currentColor" stroke-opacity=".15"/>'
        )
    parts += [_bar(bar, HEAD + LANE * rows.index(bar.row)) for bar in bars]
    for tick in ticks:
        parts.append(_text(_x(tick.at), height - 6, tick.text, opacity=0.7))
    parts += [_cut(cut, height) for cut in cuts]
    return (
        f'<div style="overflow-x:auto"><svg xmlns="http://www.w3.org/2000/svg" role="img"'
        f' width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' style="color:var(--jp-content-font-color1, inherit);max-width:none"'
        f' font-family="var(--jp-ui-font-family, sans-serif)" font-size="{SIZE}"'
        f' fill="currentColor">{"".join(parts)}</svg></div>'
    )


def words(text: str) -> float:
    """The pixels that a bar needs to hold a text."""
    return len(text) * LETTER + 14


def _x(at: float) -> float:
    return round(NAMES + at, 1)


def _bar(bar: Bar, y: float) -> str:
    x, width = _x(bar.start), round(max((bar.end - bar.start) - 2, 3), 1)
    colour = COLOURS[bar.lane]
    dashes = ' stroke-dasharray="4 3"' if bar.cut else ""
    shape = (
        f"<g><title>{escape(bar.text)}</title>"
        f'<rect x="{x}" y="{y}" width="{width}" height="{BAR}" rx="3" fill="{colour}"'
        f' fill-opacity="{0.12 if bar.cut else 0.3}" stroke="{colour}"{dashes}/>'
    )
    room = int((width - 8) / LETTER)
    text = bar.text if len(bar.text) <= room else bar.text[: max(room - 1, 0)] + "…"
    return shape + (_text(x + 4, y + BAR - 6, text) if room > 2 else "") + "</g>"


def _cut(cut: Cut, height: float) -> str:
    x = _x(cut.at)
    return (
        f'<line x1="{x}" x2="{x}" y1="14" y2="{height - 18}" stroke="{BAD}" stroke-width="2"'
        f' stroke-dasharray="6 3"/><text x="{x}" y="10" text-anchor="middle" fill="{BAD}"'
        f' font-weight="bold">✗ {escape(cut.text)}</text>'
    )


def _text(x: float, y: float, text: str, opacity: float = 1) -> str:
    faint = f' fill-opacity="{opacity}"' if opacity < 1 else ""
    return f'<text x="{x}" y="{y}"{faint}>{escape(text)}</text>'
