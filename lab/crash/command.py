"""`lab matrix`: kill Sophos at every point, restart it, go on, and say what became of it."""

from __future__ import annotations

import argparse
import signal
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, Final, get_args

import pandas as pd

from lab.crash.cell import Cell, Then
from lab.crash.scenarios import SCENARIOS
from lab.crash.signs import MISSING, as_text, cells_of, summary
from lab.matrix import (
    DEFAULT_SCENARIO,
    Stopped,
    broken,
    cells,
    crashes,
    every_protection,
    frame_of,
)
from sophos.failpoints import Point
from sophos.protections import Protection

EVERY: Final = "every"
BOTH: Final = "both"
DEFAULT_WAY: Final[Then] = "resume"
_SECONDS: Final = 4  # that one crash takes on two cores; two are made side by side
_COLUMNS: Final = (
    "columns: effects_per_call is the most effects that one call had, told_twice the messages on a"
    " viewer's screen that the record has not, calls_unanswered the most calls without an answer"
    " that the model was sent, resumes how many it took, outcome how the last run ended, seconds"
    " from the death to the first event of what followed. A call"
    " without a key may be made again, and have two effects, where it was killed at tool.returned:"
    " nobody can know that it had one. That breaks no promise."
)
_EXAMPLES: Final = """
examples:
  lab matrix                                      three tools in a turn, killed at every point
  lab matrix --point tool.returned --protection IDEMPOTENCY_KEY --scenario "three tools with keys"
  lab matrix --each-protection                    what each protection is for, in 16 crashes
  lab matrix --scenario every --continue both --seed 0-19
                                                  twenty seeds: every promise, with all on
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the crashes that are asked for, and print their rows.

    Returns 0; 1 if a promise was broken or an absence does not show what it promises; 2 for what is
    not understood; 130 after Ctrl-C, with the rows that were made.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        wanted = _wanted(options)
        signs = _signs(options)
    except ValueError as error:
        parser.error(str(error))
    asked = [*wanted, *cells_of(signs)]
    try:
        frame = crashes(asked)
    except Stopped as stop:
        return _told_in_the_middle(frame_of(stop.rows), len(asked))
    table, shown = frame[: len(wanted)], summary(signs, frame[len(wanted) :])
    if len(table):
        print(table.to_string(index=False), end="\n\n")
    if len(shown):
        print(as_text(shown), end="\n\n")
    return told(frame, list(shown["as_promised"]))


def _told_in_the_middle(frame: pd.DataFrame, asked: int) -> int:
    if len(frame):
        print(frame.to_string(index=False), end="\n\n")
    told(frame, [])
    print(f"lab: stopped after {len(frame)} of {asked} crashes.", file=sys.stderr)
    return 128 + signal.SIGINT


def told(frame: pd.DataFrame, as_promised: Sequence[str]) -> int:
    """Print what the rows come to. Returns the exit code."""
    faults, missing = broken(frame), as_promised.count(MISSING)
    if len(faults):
        print(f"Here a promise was broken:\n{faults.to_string(index=False)}", end="\n\n")
    counts = {"crashes": len(frame), "broken promises": len(faults)}
    if as_promised:
        counts["absences that did not show"] = missing
    print(", ".join(f"{what}: {number}" for what, number in counts.items()))
    return 1 if len(faults) or missing else 0


def _signs(options: argparse.Namespace) -> list[Protection]:
    if options.each_protection or options.full:
        return list(Protection)
    return sorted({Protection(name) for off in options.protection for name in off})


def _wanted(options: argparse.Namespace) -> list[Cell]:
    asked = options.point or options.scenario or options.protection
    if options.each_protection and not asked and not options.full:
        return []
    scenarios = options.scenario or [EVERY if options.full else DEFAULT_SCENARIO]
    way: Any = options.then or (BOTH if options.full else DEFAULT_WAY)
    found = cells(
        options.point,
        options.protection or (every_protection() if options.full else [()]),
        SCENARIOS if EVERY in scenarios else scenarios,
        then=get_args(Then) if way == BOTH else way,
        seed=options.seed,
    )
    if not found:
        points, names = ", ".join(options.point), " or ".join(map(repr, scenarios))
        raise ValueError(f"{names} never passes {points}: choose another --scenario or --point")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab matrix",
        allow_abbrev=False,
        description=__doc__.split(": ", 1)[1],
        epilog=_names() + _EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--scenario",
        action="append",
        choices=[*SCENARIOS, EVERY],
        metavar="NAME",
        help=f"what is killed in the middle ({DEFAULT_SCENARIO}); give it again for another",
    )
    parser.add_argument(
        "--point",
        action="append",
        metavar="POINT",
        help="where (every point); tool.returned#2 is the second pass of one",
    )
    parser.add_argument(
        "--protection",
        action="append",
        default=[],
        type=_protections,
        metavar="NAME",
        help="switch it off, and show what that does; several at once with commas; given again,"
        " another set of rows",
    )
    parser.add_argument(
        "--each-protection",
        action="store_true",
        help="what the absence of each protection shows, side by side with its presence; in"
        " addition to the rows that other options ask for",
    )
    parser.add_argument(
        "--continue",
        dest="then",
        choices=[*get_args(Then), BOTH],
        help="how it goes on after the restart: the run is resumed, or a new message is sent (resume)",
    )
    parser.add_argument(
        "--seed",
        type=_seeds,
        default=(0,),
        metavar="N",
        help="which pass of each point, where there are several (0); 0-19 for what twenty choose",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="every scenario, every point, every protection off, both ways to go on: takes hours",
    )
    return parser


def _names() -> str:
    lists: dict[str, list[str]] = {
        "scenarios": [*SCENARIOS, EVERY],
        "points": list(Point),
        "protections": [*Protection],
    }
    told = [f"{what}: {', '.join(names)}" for what, names in lists.items()]
    told.append(_COLUMNS)
    told.append(f"A crash takes about {_SECONDS} seconds; two are made side by side.")
    return "\n".join(textwrap.fill(line, 90, subsequent_indent="  ") for line in told)


def _protections(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _seeds(text: str) -> range:
    first, dash, last = text.partition("-")
    try:
        found = range(int(first), int(last if dash else first) + 1)
    except ValueError:
        found = range(0)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no seed: write a number, or two as in 0-19")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
