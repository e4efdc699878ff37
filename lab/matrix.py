"""The crash matrix: every point at which a process can die, and what the death did.

    matrix()                                                 three tools, every point
    matrix(points=["tool.returned"], protections=[(), "IDEMPOTENCY_KEY"],
           scenario="three tools with keys")                 with the protection, and without
    python3 -m lab matrix --protection CALL_TASKS            the same as a command
    python3 -m lab matrix --each-protection                  what the absence of each one shows

Each row is a real process that was killed with SIGKILL, started again, and resumed or sent a new
message, on a bench that is gone afterwards. The same seed gives the same frame.
"""

from __future__ import annotations

import argparse
import re
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, get_args

import pandas as pd

from lab.crash.cell import FAULT, FAULTS, NONE_OFF, Cell, Then, open_crashes
from lab.crash.progress import Progress
from lab.crash.scenarios import SCENARIOS
from lab.crash.signs import MISSING, as_text, cells_of, summary
from lab.crash.windows import choose
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
# What no crash may do while every protection is on.
_NEVER: Final = ("messages_lost", "messages_doubled", "told_twice", "calls_unanswered")

Off = str | Iterable[str]


def matrix(
    points: Iterable[str] | None = None,
    protections: Iterable[Off] = ((),),
    scenario: str | Iterable[str] = DEFAULT_SCENARIO,
    *,
    then: Then | Iterable[Then] = "resume",
    seed: int = 0,
    raw: bool = False,
    root: Path = ROOT,
) -> pd.DataFrame:
    """One row per scenario, protections switched off, point, and way to go on.

    A point is a name, and the seed chooses which pass of it; or a whole rule, `tool.returned#2`.
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
    seed: int,
) -> list[Cell]:
    """The crashes of a matrix in the order of its rows."""
    names = [scenario] if isinstance(scenario, str) else list(scenario)
    if unknown := [name for name in names if name not in SCENARIOS]:
        raise ValueError(
            f"There is no scenario {unknown[0]!r}. There are {', '.join(map(repr, SCENARIOS))}."
        )
    asked = list(Point) if points is None else list(points)
    ways: list[Any] = [then] if isinstance(then, str) else list(then)
    rules = {name: [_rule(name, point, seed) for point in asked] for name in names}
    return [
        Cell(scenario=name, off=_off(off), rule=rule, then=way)
        for name in names
        for off in protections
        for rule in rules[name]
        if rule is not None
        for way in ways
    ]


def crashes(wanted: Sequence[Cell], *, root: Path = ROOT) -> pd.DataFrame:
    """Make these crashes. One row for each, in their order, with every column."""
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
    return pd.DataFrame([rows[n] for n in sorted(rows)], columns=[*COLUMNS, *RAW_COLUMNS])


def broken(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows where a promise was broken though every protection was on."""
    harm = (frame["status"] == FAULT) | frame[list(_NEVER)].any(axis="columns")
    return frame[(frame["protection_off"] == NONE_OFF) & harm]


def every_protection() -> list[tuple[str, ...]]:
    """All on; then each one off, with whatever would stand in for it."""
    # With delta checkpoints the library waits for the writes by itself.
    also = {Protection.WRITE_BARRIER: (Protection.DELTA_CHECKPOINTS,)}
    # Without STEP_WAITS a crash races the disk, and the same seed does not give the same row.
    wanted = [name for name in Protection if name is not Protection.STEP_WAITS]
    return [(), *((name, *also.get(name, ())) for name in wanted)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill Sophos at every point, restart it, go on, and say what became of it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        off = [_off(names.split(",")) for names in options.protection or ()]
        wanted = _wanted(options, off)
    except ValueError as error:
        parser.error(str(error))
    single = {name for names in off for name in names}
    promised = list(Protection) if options.each_protection or options.full else sorted(single)
    signs = cells_of(promised)
    frame = crashes([*wanted, *signs])
    table, shown = frame[: len(wanted)], summary(promised, frame[len(wanted) :])
    faults = len(broken(frame))
    if len(table):
        print(table.to_string(index=False), end="\n\n")
    if len(shown):
        print(as_text(shown), end="\n\n")
    missing = list(shown["as_promised"]).count(MISSING)
    print(f"{len(frame)} crashes, {faults} that broke a promise.", end="")
    print(f" {missing} absences that did not show." if len(signs) else "")
    return 1 if faults or missing else 0


def _wanted(options: argparse.Namespace, off: list[frozenset[Protection]]) -> list[Cell]:
    every = list(SCENARIOS)
    asked = options.point or options.scenario or off
    if options.each_protection and not asked and not options.full:
        return []
    return cells(
        options.point,
        off or (every_protection() if options.full else [()]),
        options.scenario or (every if options.full else DEFAULT_SCENARIO),
        then=options.then or (get_args(Then) if options.full else "resume"),
        seed=options.seed,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab matrix", description=main.__doc__)
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS))
    parser.add_argument("--point", action="append", help="a point, or a rule: tool.returned#1")
    parser.add_argument(
        "--protection",
        action="append",
        metavar="NAME",
        help="switch it off, and show what that does; several at once with commas; given again,"
        " another set of rows",
    )
    parser.add_argument(
        "--each-protection",
        action="store_true",
        help="what the absence of each protection shows, side by side with its presence",
    )
    parser.add_argument(
        "--continue",
        dest="then",
        action="append",
        choices=get_args(Then),
        help="how it goes on after the restart (resume)",
    )
    parser.add_argument("--seed", type=int, default=0, help="which pass of each point (0)")
    parser.add_argument(
        "--full",
        action="store_true",
        help="every scenario, every point, every protection, both ways to go on: takes hours",
    )
    return parser


def _rule(scenario: str, point: str, seed: int) -> str | None:
    found = _WINDOW.fullmatch(point)
    if found is None or found["point"] not in list(Point):
        raise ValueError(
            f"There is no point {point!r}. There are {', '.join(Point)}."
            " A certain pass of one is written as in tool.returned(tasks__create_task)#2."
        )
    return choose(SCENARIOS[scenario], Point(point), seed) if point in list(Point) else point


def _off(off: Off) -> frozenset[Protection]:
    """Raises ValueError for a protection that there is not."""
    return frozenset(map(Protection, [off] if isinstance(off, str) else off))


if __name__ == "__main__":
    raise SystemExit(main())
