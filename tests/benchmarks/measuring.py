"""What the measuring scripts share: samples, their median, a table and JSON.

    python tests/benchmarks/measure_start.py [--samples 7] [--json start.json]

A figure is the median of its samples, with the fastest and the slowest beside it. Nothing here
passes or fails: a clock is no test.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

FEWEST: Final = 5  # samples of a figure that is quoted


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One row: what was measured, in which unit, and every sample of it."""

    what: str
    unit: str
    samples: Sequence[float]

    def row(self) -> tuple[str, ...]:
        digits = 0 if self.unit == "bytes" else 2 if self.unit in {"s", "×"} else 1
        middle, low, high = median(self.samples), min(self.samples), max(self.samples)
        numbers = (f"{number:,.{digits}f}" for number in (middle, low, high))
        return (self.what, *numbers, self.unit, str(len(self.samples)))


@contextmanager
def timed(samples: list[float], *, unit: float = 1.0) -> Iterator[None]:
    """Add the seconds this took, times `unit`: 1000 for milliseconds."""
    began = time.perf_counter()
    yield
    samples.append((time.perf_counter() - began) * unit)


def main(measure: Callable[[int], Sequence[Figure]], about: str) -> None:
    """Measure, print the table, and write JSON if a file is named."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--samples", type=int, default=FEWEST, help="of each figure")
    parser.add_argument("--json", type=Path, help="a file for every sample")
    options = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    figures = measure(options.samples)
    machine = {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "system": platform.system(),
        "load_before": load,
    }
    _print([("measure", "median", "least", "most", "unit", "samples"), *(f.row() for f in figures)])
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    if options.json:
        report = {"machine": machine, "figures": [asdict(figure) for figure in figures]}
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def _print(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        print(first.ljust(widths[0]), *cells, sep="  ")
