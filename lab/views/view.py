"""What a view returns: a data frame first, then plain text, then HTML or SVG of the same data.

A view is a value. Nothing in it is live, and a cell that needs what it shows takes `data`.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import pandas as pd

from lab.display import Display


@dataclass(frozen=True, kw_only=True, repr=False)
class View(Display):
    data: pd.DataFrame


def plain(frame: pd.DataFrame) -> str:
    """A frame as lines of text, as wide as it is."""
    if frame.empty:
        return "(nothing)"
    texts = frame.map(str)
    widths = {name: max(len(str(name)), *map(len, texts[name])) for name in frame.columns}
    head = "  ".join(str(name).ljust(widths[name]) for name in frame.columns)
    rows = [
        "  ".join(row[name].ljust(widths[name]) for name in frame.columns)
        for row in texts.to_dict("records")
    ]
    return "\n".join(line.rstrip() for line in (head, *rows))


def table(frame: pd.DataFrame, caption: str) -> str:
    """A frame as an HTML table; a newline in a cell is one on the page."""
    head = "".join(
        f'<th scope="col" style="text-align:left">{escape(str(name))}</th>' for name in frame
    )
    body = "".join(
        "<tr>"
        + "".join(
            '<td style="text-align:left;vertical-align:top;white-space:pre-wrap">'
            f"{escape(str(cell))}</td>"
            for cell in row
        )
        + "</tr>"
        for row in frame.itertuples(index=False)
    )
    title = f'<caption style="text-align:left">{escape(caption)}</caption>'
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
