"""Who is below whom: the bench's live processes as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import pandas as pd

from lab.bench import Bench
from lab.display import lines
from lab.views.view import View

ROOT = "notebook"


def process_tree(bench: Bench, *, raw: bool = False) -> View:
    """`data` is `tables.processes()`; with `raw=True` each process is named with its pid."""
    frame = bench.tables.processes(raw=raw)
    return View(data=frame, text=lines(*_text(frame)), html=_html(frame))


def _depths(frame: pd.DataFrame) -> list[int]:
    """How deep each row is: the rows are in order, each followed by those it started."""
    path = [ROOT]
    depths = []
    for row in frame.itertuples():
        while path[-1] != row.started_by and len(path) > 1:
            path.pop()
        depths.append(len(path))
        path.append(str(row.process))
    return depths


def _told(frame: pd.DataFrame) -> list[str]:
    return [
        f"{row['process']}: {row['state']}" + (f" (pid {row['pid']})" if "pid" in row else "")
        for row in frame.to_dict("records")
    ]


def _text(frame: pd.DataFrame) -> Iterator[str]:
    yield ROOT
    depths = _depths(frame)
    for number, (depth, told) in enumerate(zip(depths, _told(frame), strict=True)):
        rest = depths[number + 1 :]
        stems = ("│  " if _goes_on(rest, above) else "   " for above in range(1, depth))
        yield "".join(stems) + ("├─ " if _goes_on(rest, depth) else "└─ ") + told


def _goes_on(rest: list[int], depth: int) -> bool:
    """Whether another process of this depth comes before one that is higher up."""
    return next((other for other in rest if other <= depth), 0) == depth


def _html(frame: pd.DataFrame) -> str:
    html, depth = f"<div>{ROOT}</div>", 0
    for below, told in zip(_depths(frame), _told(frame), strict=True):
        html += "<ul>" * (below - depth) + "</ul>" * (depth - below)
        html += f"<li>{escape(told)}</li>"
        depth = below
    return html + "</ul>" * depth
