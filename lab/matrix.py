"""The crash matrix: every point at which a process can die, and what the death did.

    matrix()                                                 three tools, every point
    matrix(points=["tool.returned"], protections=[(), "IDEMPOTENCY_KEY"],
           scenario="three tools with keys")                 with the protection, and without
    matrix(scenario=SCENARIOS, seed=range(20))               every scenario, passes of twenty seeds

Each row is a real process that was killed with SIGKILL, started again, and resumed or sent a new
message, on a bench that is gone afterwards. The same seed gives the same frame. As a command:
`python3 -m lab matrix`, in `lab.crash.command`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

import pandas as pd

from lab.crash.cell import FAULT, FAULTS, NONE_OFF, Cell, Then, open_crashes
from lab.crash.progress import Progress
from lab.crash.scenarios import SCENARIOS
from lab.crash.verdicts import breaks_a_promise
from lab.crash.windows import choose, windows
from lab.workspace import ROOT
from sophos.failpoints import Point
from sophos.protections import Protection

DEFAULT_SCENARIO: Final = "three tools"
LANES: Final = 2  # crashes made side by side, each on a bench of its own
COLUMNS: Final = (
    *("scenario", "protection_off", "point", "then", "status", "resumable"),
    *("messages_lost", "messages_doubled", "tools_repeated", "effects_per_call", "told_twice"),
    "calls_unanswered",
)
RAW_COLUMNS: Final = ("resumes", "outcome", "seconds")
_WINDOW: Final = re.compile(r"(?P<point>[a-z.]+)(\([^()]*\))?(#[1-9]\d*)?(@\d+)?")

Off = str | Iterable[str]


class Stopped(KeyboardInterrupt):
    """Ctrl-C in the middle of a matrix. `rows`: what was made until then, by the crash's place."""

    def __init__(self, rows: Mapping[int, Mapping[str, Any]]) -> None:
        super().__init__()
        self.rows = rows


def matrix(
    points: Iterable[str] | None = None,
    protections: Iterable[Off] = ((),),
    scenario: str | Iterable[str] = DEFAULT_SCENARIO,
    *,
    then: Then | Iterable[Then] = "resume",
    seed: int | Iterable[int] = 0,
    raw: bool = False,
    root: Path = ROOT,
) -> pd.DataFrame:
    """One row per scenario, protections switched off, point, and way to go on.

    A point is a name, and the seed chooses which pass of it: with several seeds, one row for each
    pass that any of them chooses. Or it is a whole rule, `tool.returned#2`.
    Each of `protections` is a name or several: what is switched off together. A point that a
    scenario never passes has no row; one that is not passed without a protection has the status
    "not passed". `effects_per_call` is the most effects that any one call had; `calls_unanswered`
    the most calls without an answer that the model was sent at once. `raw` adds what is not the
    same twice.

    Raises ValueError for a scenario, a point or a protection that there is not.
    """
    frame = crashes(cells(points, protections, scenario, then=then, seed=seed), root=root)
    return frame if raw else frame[list(COLUMNS)]


def cells(
    points: Iterable[str] | None,
    protections: Iterable[Off],
    scenario: str | Iterable[str],
    *,
    then: Then | Iterable[Then] = "resume",
    seed: int | Iterable[int],
) -> list[Cell]:
    """The crashes of a matrix in the order of its rows."""
    names = [scenario] if isinstance(scenario, str) else list(scenario)
    if unknown := [name for name in names if name not in SCENARIOS]:
        raise ValueError(
            f"There is no scenario {unknown[0]!r}. There are {', '.join(map(repr, SCENARIOS))}."
        )
    asked = list(Point) if points is None else list(points)
    ways: list[Any] = [then] if isinstance(then, str) else list(then)
    seeds = [seed] if isinstance(seed, int) else list(seed)
    rules = {name: [_rules(name, point, seeds) for point in asked] for name in names}
    return [
        Cell(scenario=name, off=_off(off), rule=rule, then=way)
        for name in names
        for off in protections
        for rule in chain.from_iterable(rules[name])
        for way in ways
    ]


def crashes(wanted: Sequence[Cell], *, root: Path = ROOT) -> pd.DataFrame:
    """Make these crashes. One row for each, in their order, with every column.

    Raises Stopped on Ctrl-C, once the crashes at hand are made and their benches are gone.
    """
    stopped = threading.Event()
    done: SimpleQueue[tuple[int, dict[str, Any] | BaseException]] = SimpleQueue()

    def lane(numbers: Iterable[int]) -> None:
        try:
            with open_crashes(root) as bench:
                for number in numbers:
                    if stopped.is_set():
                        return
                    cell = wanted[number]
                    try:
                        row = cell.row(bench.make(cell))
                    except FAULTS as error:
                        # Hours of other rows must not be lost for it.
                        row = cell.fault(error)
                    done.put((number, row))
        # Not lost in a thread: whoever waits for the rows is the one to hear of it.
        except BaseException as error:  # noqa: BLE001
            done.put((-1, error))

    rows: dict[int, dict[str, Any]] = {}
    try:
        with ThreadPoolExecutor(LANES) as pool, Progress(len(wanted)) as progress:
            try:
                for first in range(min(LANES, len(wanted))):
                    pool.submit(lane, range(first, len(wanted), LANES))
                while len(rows) < len(wanted):
                    number, made = done.get()
                    if isinstance(made, BaseException):
                        raise made
                    rows[number] = made
                    progress.made(wanted[number].rule)
            finally:
                stopped.set()
    except KeyboardInterrupt as stop:
        raise Stopped(rows) from stop
    return frame_of(rows)


def frame_of(rows: Mapping[int, Mapping[str, Any]]) -> pd.DataFrame:
    """Rows in the order of their places, with every column."""
    return pd.DataFrame([rows[n] for n in sorted(rows)], columns=[*COLUMNS, *RAW_COLUMNS])


def broken(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows where a promise was broken though every protection was on.

    `frame` has every column, the raw ones too.
    """
    rows: list[Any] = frame.to_dict("records")
    return frame[[_breaks(row) for row in rows]]


def every_protection() -> list[tuple[str, ...]]:
    """All on; then each one off, with whatever would stand in for it."""
    # With delta checkpoints the library waits for the writes by itself.
    also = {Protection.WRITE_BARRIER: (Protection.DELTA_CHECKPOINTS,)}
    # Without STEP_WAITS a crash races the disk, and the same seed does not give the same row.
    wanted = [name for name in Protection if name is not Protection.STEP_WAITS]
    return [(), *((name, *also.get(name, ())) for name in wanted)]


def _breaks(row: Mapping[str, Any]) -> bool:
    if row["protection_off"] != NONE_OFF or row["status"] == FAULT:
        return bool(row["status"] == FAULT)
    return breaks_a_promise(row, SCENARIOS[row["scenario"]], _name(row["point"]))


def _rules(scenario: str, point: str, seeds: Iterable[int]) -> list[str]:
    if _name(point) not in list(Point):
        raise ValueError(
            f"There is no point {point!r}. There are {', '.join(Point)}."
            " A certain pass of one is written as in tool.returned(tasks__create_task)#2."
        )
    if point not in list(Point):
        return [point]
    place = SCENARIOS[scenario]
    chosen = {choose(place, Point(point), seed) for seed in seeds}
    return [rule for rule in windows(place, Point(point)) if rule in chosen]


def _name(rule: str) -> str:
    """The point that a rule is of; nothing for what is no rule."""
    found = _WINDOW.fullmatch(rule)
    return found["point"] if found else ""


def _off(off: Off) -> frozenset[Protection]:
    names = [off] if isinstance(off, str) else list(off)
    if unknown := [name for name in names if name not in list(Protection)]:
        raise ValueError(
            f"There is no protection {unknown[0]!r}. There are {', '.join(Protection)}."
        )
    return frozenset(map(Protection, names))
