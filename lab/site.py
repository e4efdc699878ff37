"""python -m lab.site: a small web site to fetch from, which counts who came.

    GET /           a short page            GET /robots.txt    everyone may read everything
    GET /article    a long one              GET /_lab/visits   the ledger so far, not counted itself
    GET /slow?seconds=5                     a page that takes its time

A witness: it did not crash when something else did. Its ledger is durable where `--ledger` names a
file: one JSON line a GET, in the file before the visitor gets a byte, and read back by a new start.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from lab import child
from lab.http.request import BadRequest, Request
from lab.http.server import Answer

NAME: Final = "The lab's web site"
PAGES: Final = Path(__file__).parent / "pages"
HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
SLOW_SECONDS: Final = 5.0
SLOWEST_SECONDS: Final = 600.0


@dataclass(frozen=True, kw_only=True)
class Visit:
    """The nth GET, counted from 1. `at` is seconds since the epoch."""

    n: int
    path: str
    query: str
    status: int
    user_agent: str
    at: float


class VisitLedger:
    def __init__(self, file: Path | None) -> None:
        self.visits: list[Visit] = []
        if file is not None and file.exists():
            self.visits = _read(file)
        # One line a write: the file is whole whenever the process is killed.
        self._file = file.open("a", encoding="utf-8", buffering=1) if file is not None else None

    def count(self, request: Request, status: int) -> None:
        visit = Visit(
            n=len(self.visits) + 1,
            path=request.path,
            query=request.query_string,
            status=status,
            user_agent=request.headers.get("user-agent", ""),
            at=time.time(),
        )
        self.visits.append(visit)
        if self._file is not None:
            self._file.write(json.dumps(asdict(visit)) + "\n")


def _read(ledger: Path) -> list[Visit]:
    lines = ledger.read_text(encoding="utf-8").splitlines()
    try:
        return [Visit(**json.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise ValueError(f"{ledger} is no ledger of visits. {error}") from error


@dataclass(frozen=True, kw_only=True)
class Page:
    body: bytes
    content_type: str = HTML


class Site:
    def __init__(self, ledger: VisitLedger) -> None:
        self._ledger = ledger
        self._pages = {
            "/": Page(body=(PAGES / "index.html").read_bytes()),
            "/article": Page(body=(PAGES / "article.html").read_bytes()),
            "/slow": Page(body=(PAGES / "slow.html").read_bytes()),
            "/robots.txt": Page(body=b"User-agent: *\nAllow: /\n", content_type=TEXT),
        }

    async def handle(self, request: Request, answer: Answer) -> None:
        if request.method not in ("GET", "HEAD"):
            raise BadRequest(405, "This site can only be read.")
        if request.path == "/_lab/visits":
            visits = [asdict(visit) for visit in self._ledger.visits]
            await answer.json(200, {"visits": visits})
            return
        page = self._pages.get(request.path)
        seconds = _seconds(request) if request.path == "/slow" else 0
        if request.method == "GET":
            self._ledger.count(request, 404 if page is None else 200)
        await asyncio.sleep(seconds)
        if page is None:
            await answer.send(404, b"There is no such page.\n", TEXT)
        else:
            await answer.send(200, page.body, page.content_type)


def _seconds(request: Request) -> float:
    text = request.query.get("seconds", str(SLOW_SECONDS))
    try:
        seconds = float(text)
    except ValueError as error:
        raise BadRequest(400, f"seconds is a number, not {text!r:.80}") from error
    if not 0 <= seconds <= SLOWEST_SECONDS:
        raise BadRequest(400, f"seconds is from 0 to {SLOWEST_SECONDS:.0f}")
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.site", description=__doc__, allow_abbrev=False
    )
    child.add_arguments(parser)
    parser.add_argument("--ledger", type=Path, metavar="F.jsonl", help="gets a line for every GET")
    options = parser.parse_args()
    try:
        site = Site(VisitLedger(options.ledger))
    except (OSError, ValueError) as error:
        print(f"{NAME} cannot start: {error}", file=sys.stderr)
        return 2
    return child.serve(site.handle, options, name=NAME)


if __name__ == "__main__":
    sys.exit(main())
