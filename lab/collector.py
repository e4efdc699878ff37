"""python -m lab.collector: where data would go that leaves. It takes whatever is sent, and keeps it.

    GET  …   an empty object             POST, PUT, PATCH …   accepted, and kept

A stand-in for a tracing service on another machine, so that a lesson can read what one would have
got. Its ledger is durable: one JSON line a request, on disk before the sender gets its answer.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Final

from lab import child
from lab.http.request import Request
from lab.http.server import Answer

NAME: Final = "The lab's collector"


class Collector:
    def __init__(self, ledger: Path) -> None:
        # One line a write: the file is whole whenever the process is killed.
        self._file = ledger.open("a", encoding="utf-8", buffering=1)

    async def handle(self, request: Request, answer: Answer) -> None:
        received = {
            "method": request.method,
            "path": request.path,
            "bytes": len(request.body),
            # Whatever it is, as text that can be searched for what should not be in it.
            "body": request.body.decode("utf-8", errors="replace"),
        }
        self._file.write(json.dumps(received) + "\n")
        await answer.json(200 if request.method in ("GET", "HEAD") else 202, {})


def read_sent(ledger: Path) -> list[dict[str, Any]]:
    """Every request on record, oldest first; none if nothing was ever sent."""
    if not ledger.exists():
        return []
    lines = ledger.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.collector", description=__doc__, allow_abbrev=False
    )
    child.add_arguments(parser)
    parser.add_argument("--ledger", type=Path, metavar="F.jsonl", required=True, help="keeps all")
    options = parser.parse_args()
    try:
        collector = Collector(options.ledger)
    except OSError as error:
        print(f"{NAME} cannot start: {error}", file=sys.stderr)
        return 2
    return child.serve(collector.handle, options, name=NAME)


if __name__ == "__main__":
    sys.exit(main())
