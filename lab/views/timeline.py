"""A conversation's processes, runs, steps, stream and effects on one clock, with each crash across.

Drawn in the order in which things happened, every moment as far from the next, so that it is the
same in every run. With `raw=True` it is drawn to scale, in seconds, and differs each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from math import ceil, floor
from typing import Any, Final

import pandas as pd

from lab.bench import Bench
from lab.display import lines
from lab.life import read_lives
from lab.views.columns import Want, widths
from lab.views.lanes import Bar, Cut, Tick, axis, draw, words
from lab.views.moments import Effect, History, Item, RunSpan, SavedStep, history, seconds
from lab.views.view import View
from sophos.run import ACTIVE

TASKS: Final = "tasks"
ROWS: Final = ("frozen", "runs", "steps", "stream", "effects", TASKS)  # below the processes
TICKS: Final = 8


def timeline(bench: Bench, conversation: str, *, raw: bool = False) -> View:
    """`data`: one row a thing, with the numbers of the moments from which and to which it lasted."""
    past = _read(bench, conversation)
    name = _name(bench, conversation)
    frame = _frame(past, raw=raw)
    text = _text(name, past)
    return View(data=frame, text=text, html=_drawn(name, past, raw=raw))


def _read(bench: Bench, conversation: str) -> History:
    runs = bench.tables.runs(conversation, raw=True)
    names = dict(zip(runs["id"], runs["run"], strict=True))
    return history(
        [
            RunSpan(
                name=row["run"],
                kind=row["kind"],
                resume_of=row["resume_of"],
                status=row["status"],
                owner=row["owner"],
                began=seconds(row["started_at"]),
                ended=None if row["status"] in ACTIVE else seconds(row["finished_at"]),
            )
            for row in runs.to_dict("records")
        ],
        [
            SavedStep(run=names.get(saved.run or "", ""), step=saved.step, at=seconds(saved.at))
            for saved in bench.tables.thread(conversation).checkpoints
        ],
        read_lives(bench.workspace.processes),
        {name: bench.client.shown(run) for run, name in names.items()},
        [
            *(
                Effect(what=f"GET {visit['path']}", at=visit["at"])
                for visit in bench.tables.visits(raw=True).to_dict("records")
            ),
            *(
                Effect(what=f"{row['tool']}: {row['title']}", at=row["at"], row=TASKS)
                for row in bench.tables.effects(raw=True).to_dict("records")
            ),
        ],
    )


def _name(bench: Bench, conversation: str) -> str:
    named = bench.tables.conversations(raw=True)
    known = named.loc[named["id"] == conversation, "conversation"]
    return str(known.iloc[0]) if len(known) else conversation


def _frame(past: History, *, raw: bool) -> pd.DataFrame:
    first = past.moments[0].at if past.moments else 0.0

    def row(item: Item) -> dict[str, Any]:
        known = {"lane": item.row, "what": item.text, "cut": item.cut}
        known |= {"from": floor(past.place(item.start)) + 1, "to": ceil(past.place(item.end)) + 1}
        known |= {"began": round(item.start - first, 3), "ended": round(item.end - first, 3)}
        return known

    columns = ["lane", "what", "cut", "from", "to", *(["began", "ended"] if raw else [])]
    return pd.DataFrame(map(row, past.items), columns=columns)


def _text(name: str, past: History) -> str:
    """Every moment in order, numbered, with what was going on up to it."""
    if not past.moments:
        return f"Timeline of {name}: nothing is on record"
    told = []
    for number, moment in enumerate(past.moments):
        told += [
            f"      {item.row:<8} {item.text}"
            for item in past.items
            if item.lane in ("stream", "effect", "step")
            and number - 1 < past.place(item.end) <= number
            and (item.lane != "step" or item.cut)
        ]
        line = "═" if moment.crash else "┄" if moment.freeze else ""
        across = f" {line * 24}" if line else ""
        told.append(f"  {number + 1:>2}  {moment.lane:<8} {moment.text}{across}")
    return lines(f"Timeline of {name}", *told)


def _drawn(name: str, past: History, *, raw: bool) -> str:
    """On the scale of moments, or of seconds; as wide as a notebook beside its list of files."""
    if not past.moments:
        return draw(f"Timeline of {name}", "Nothing is on record.", [], [], [])
    rows = list(dict.fromkeys([*(i.row for i in past.items if i.lane == "process"), *ROWS]))
    room = axis(rows)
    at = _scale(past, room) if raw else _columns(past, room)
    bars = [
        _bar(item, *_span(past, item, at, raw=raw))
        for item in sorted(past.items, key=lambda item: rows.index(item.row))
    ]
    cuts = [Cut(at=at(moment.at), text=moment.text) for moment in past.moments if moment.crash]
    first, last = past.moments[0].at, past.moments[-1].at
    if raw:
        times = [first + (last - first) * n / TICKS for n in range(TICKS)]
        ticks = [Tick(at=at(time), text=f"{time - first:.1f} s") for time in times]
    else:
        ticks = [Tick(at=at(moment.at), text=str(n)) for n, moment in enumerate(past.moments, 1)]
    described = "; ".join(moment.text for moment in past.moments)
    return draw(f"Timeline of {name}", f"In this order: {described}.", bars, cuts, ticks)


def _scale(past: History, room: float) -> Callable[[float], float]:
    first = past.moments[0].at
    span = past.moments[-1].at - first or 1.0
    return lambda time: (time - first) * room / span


def _columns(past: History, room: float) -> Callable[[float], float]:
    """Each moment as far from the next as what happened between them needs to be read, if it can."""
    each = widths(len(past.moments) - 1, room, _wants(past))
    edges = [0.0, *accumulate(each)]

    def at(time: float) -> float:
        place = past.place(time)
        column = min(max(floor(place), 0), len(each) - 1)
        return edges[column] + (place - column) * each[column] if each else 0.0

    return at


def _wants(past: History) -> Iterator[Want]:
    """Who needs room to be read: what was cut off, effects, then everybody's short words, then all.

    The words of a stream are long, and most are told by the row's name: they come late.
    """

    def over(item: Item, text: str) -> Want:
        first, last = floor(past.place(item.start)), ceil(past.place(item.end))
        return Want(first=first, last=last, pixels=words(text))

    effects: Counter[tuple[str, int]] = Counter()
    for item in past.items:
        if item.lane == "effect":
            effects[item.row, floor(past.place(item.start))] += ceil(words(_short(item)))
    yield from (over(item, _short(item)) for item in past.items if item.cut)
    for (_, column), pixels in effects.items():
        yield Want(first=column, last=column + 1, pixels=pixels)
    others = [item for item in past.items if item.lane not in {"effect", "stream"}]
    yield from (over(item, _short(item)) for item in others)
    yield from (over(item, item.text) for item in others if item.lane == "run")
    yield from (over(item, _short(item)) for item in past.items if item.lane == "stream")
    yield from (over(item, item.text) for item in others)


def _span(
    past: History, item: Item, at: Callable[[float], float], *, raw: bool
) -> tuple[float, float]:
    """Where a bar is drawn; effects between the same two moments share the room there."""
    if raw or item.lane != "effect":
        return at(item.start), at(item.end)
    place = past.place(item.start)
    beside = [
        each
        for each in past.items
        if (each.lane, each.row) == ("effect", item.row) and past.place(each.start) == place
    ]
    column = floor(place)
    left, right = (at(past.moments[min(n, len(past.moments) - 1)].at) for n in (column, column + 1))
    edges = [0.0, *accumulate(words(_short(each)) for each in beside)]
    number, scale = beside.index(item), min((right - left) / edges[-1], 1.0)
    return left + edges[number] * scale, left + edges[number + 1] * scale


def _bar(item: Item, start: float, end: float) -> Bar:
    return Bar(
        lane=item.lane,
        row=item.row,
        text=item.text,
        short=_short(item),
        start=start,
        end=end,
        cut=item.cut,
    )


def _short(item: Item) -> str:
    """What is read where the text has no room: who it is, or what its row does not say already."""
    if item.lane in {"step", "stream", "effect"}:
        return item.text.partition(" ")[2]
    return item.text.partition(":")[0]
