"""A drawing of what lasted how long, lane by lane on one axis, as an SVG.

Colours are the page's own text colour and mid-tones that are legible on light and dark; each bar
has its words in it or beside it, and all of them as its title.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from lab.display import BAD

LANE: Final = 30  # pixels from one lane to the next
BAR: Final = 20
HEAD: Final = 26  # pixels above the first lane
# Beside JupyterLab's list of files there are 828 pixels in a window of 1280, and 572 in one of 1024.
WIDE: Final = 660  # pixels for all of it
SMALLEST: Final = 0.85  # of its size, where there is less
MARGIN: Final = 24  # pixels at the right end, for a number
LINE: Final = 14  # pixels from one line of words above the lanes to the next
FEW: Final = 2  # letters: cut down to these, words say nothing
CLOSE: Final = 14  # pixels from a number on the axis to the next, at least
LETTER: Final = 6.0  # pixels of an average letter at the size that is used
PAD: Final = 10  # pixels of a bar that its words leave free
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
    """From `start` to `end`, in pixels on the axis. `cut`: something ended it before its own end.

    `short` is read where `text` has no room; `text` is always its title.
    """

    lane: str
    row: str
    text: str
    short: str = ""
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


def axis(rows: Iterable[str]) -> float:
    """The pixels that are left for the bars, beside these rows' names."""
    return WIDE - _names(rows) - MARGIN


def draw(
    title: str,
    description: str,
    bars: Sequence[Bar],
    cuts: Sequence[Cut],
    ticks: Sequence[Tick],
) -> str:
    """An SVG that shrinks a little where a page is narrow, and scrolls where it could not be read."""
    rows = list(dict.fromkeys(bar.row for bar in bars))
    left = _names(rows)
    end = max((bar.end for bar in bars), default=1.0)
    width = round(left + end + MARGIN)
    labels = _labels(cuts, left, width)
    head = HEAD + LINE * max((label.line for label in labels), default=0)
    height = head + LANE * len(rows) + 22
    parts = [f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"]
    for number, row in enumerate(rows):
        y = head + LANE * number
        parts.append(_text(0, y + BAR - 6, row))
        parts.append(
            f'<line x1="{left}" x2="{width}" y1="{y + BAR + 4}" y2="{y + BAR + 4}"'
            ' stroke="currentColor" stroke-opacity=".15"/>'
        )
    parts += [_bar(bar, left, head + LANE * rows.index(bar.row)) for bar in bars]
    shown = -float(CLOSE)
    for tick in ticks:
        if tick.at - shown >= CLOSE:
            shown = tick.at
            parts.append(_text(round(left + tick.at, 1), height - 6, tick.text, opacity=0.7))
    parts += [_cut(label, left, height) for label in labels]
    return (
        f'<div style="overflow-x:auto"><svg xmlns="http://www.w3.org/2000/svg" role="img"'
        f' viewBox="0 0 {width} {height}" style="color:var(--jp-content-font-color1, inherit);'
        f'width:100%;height:auto;max-width:{width}px;min-width:{round(width * SMALLEST)}px"'
        f' font-family="var(--jp-ui-font-family, sans-serif)" font-size="{SIZE}"'
        f' fill="currentColor">{"".join(parts)}</svg></div>'
    )


def words(text: str) -> float:
    """The pixels that a bar needs to hold a text."""
    return len(text) * LETTER + PAD


def _names(rows: Iterable[str]) -> int:
    """The pixels of the longest name of a row."""
    return round(words(max(rows, key=len, default=""))) + PAD


def _bar(bar: Bar, left: float, y: float) -> str:
    x, width = round(left + bar.start, 1), round(max((bar.end - bar.start) - 2, 3), 1)
    colour = COLOURS[bar.lane]
    dashes = ' stroke-dasharray="4 3"' if bar.cut else ""
    shape = (
        f"<g><title>{escape(bar.text)}</title>"
        f'<rect x="{x}" y="{y}" width="{width}" height="{BAR}" rx="3" fill="{colour}"'
        f' fill-opacity="{0.12 if bar.cut else 0.3}" stroke="{colour}"{dashes}/>'
    )
    room = int((width + 2 - PAD) / LETTER)
    text = bar.text if len(bar.text) <= room or not bar.short else bar.short
    if len(text) > room:
        text = text[: room - 1] + "…" if room > FEW else ""
    return shape + (_text(x + 4, y + BAR - 6, text) if text else "") + "</g>"


@dataclass(frozen=True, kw_only=True)
class _Label:
    """The words of a cut: from where they are read, and how many lines from the top."""

    cut: Cut
    begin: float
    line: int


def _labels(cuts: Sequence[Cut], left: float, width: float) -> list[_Label]:
    """Above the cut, as far as the drawing's edges let them, and none over another."""
    ends: list[float] = []
    labels = []
    for cut in cuts:
        room = words(_named(cut))
        begin = max(min(left + cut.at - room / 2, width - room), 0.0)
        line = next((n for n, end in enumerate(ends) if end <= begin), len(ends))
        ends[line : line + 1] = [begin + room]
        labels.append(_Label(cut=cut, begin=round(begin, 1), line=line))
    return labels


def _named(cut: Cut) -> str:
    return f"✗ {cut.text}"


def _cut(label: _Label, left: float, height: float) -> str:
    x, y = round(left + label.cut.at, 1), SIZE + LINE * label.line
    return (
        f'<line x1="{x}" x2="{x}" y1="{y + 3}" y2="{height - 18}" stroke="{BAD}" stroke-width="2"'
        f' stroke-dasharray="6 3"/><text x="{label.begin}" y="{y}" fill="{BAD}"'
        f' font-weight="bold">{escape(_named(label.cut))}</text>'
    )


def _text(x: float, y: float, text: str, opacity: float = 1) -> str:
    faint = f' fill-opacity="{opacity}"' if opacity < 1 else ""
    return f'<text x="{x}" y="{y}"{faint}>{escape(text)}</text>'
