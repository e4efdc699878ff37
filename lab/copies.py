"""Every copy of a text on a bench's disk, found by its bytes: no file is asked what it holds.

    copies(bench, "heliotrope")                  one row a file that holds it
    nowhere(bench, told, known=prompt)           a verdict: not one phrase of it is on disk
    in_free_pages(database, "heliotrope")        whether it stands where no row can be

A database file has more bytes than its rows: a log, pages that are free, room that a shorter row
left. A text that lies across the border of two pages is not found, which is why `nowhere` looks
for many short phrases and not for one long one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from struct import unpack
from typing import Final

import pandas as pd

from lab.bench import Bench
from lab.check import Verdict, check, counted
from lab.frame import frame
from lab.workspace import Workspace

PHRASE: Final = 8  # words: so many are not the same in two texts by chance
LARGEST_PAGE: Final = 65_536  # bytes; the file's header says 1 for it
_KEEPERS: Final = (
    ("db/sophos.db-wal", "Sophos: the database's log of writes"),
    ("db/sophos.db-shm", "Sophos: the index of that log"),
    ("db/sophos.db", "Sophos: the database"),
    ("memory/", "Memory server: the knowledge graph"),
    ("processes/model.requests", "model server: its log of requests"),
    ("processes/server#", "Sophos: the log of one start"),
    ("processes/", "bench: about its processes"),
    ("site.jsonl", "web site: its visitors"),
    ("config/", "bench: configuration"),
)


def copies(bench: Bench, text: str, *, raw: bool = False) -> pd.DataFrame:
    """The files that hold the text, and who keeps each; with `raw=True` also how often."""
    wanted = text.encode()
    rows = [
        {"file": name, "kept_by": _keeper(name), "times": data.count(wanted)}
        for name, data in _files(bench.workspace).items()
        if wanted in data
    ]
    return frame(rows, ["file", "kept_by"], ["times"] if raw else [])


def nowhere(bench: Bench, text: str, *, known: str, within: str = "") -> Verdict:
    """No phrase of the text is in any file. `known` is a text that is: a search must be able to find.

    A phrase is eight words that follow one another; a shorter text is one phrase. `within` is how
    the names begin of the files that count: `db/`.
    """
    words = text.split()
    phrases = [" ".join(words[n : n + PHRASE]) for n in range(max(1, len(words) - PHRASE + 1))]
    every = _files(bench.workspace)
    files = {name: data for name, data in every.items() if name.startswith(within)}
    found = []
    for name, data in files.items():
        # The first of each file: how many are found is a matter of where its pages end.
        first = next((phrase for phrase in phrases if words and phrase.encode() in data), None)
        found += [f"{name} holds {first!r}"] if first is not None else []
    missing = [] if words else ["a text to look for"]
    if not any(known.encode() in data for data in files.values()):
        missing.append(f"a search that finds what is there: {known!r} was not found")
    return check(
        f"no phrase of it is in any file{f' of {within}' if within else ''}",
        faults=found,
        seen=f"looked for {counted(len(phrases), 'phrase')}, and for what is there",
        missing=missing,
    )


def in_free_pages(database: Path, text: str) -> bool:
    """Whether a page that the database file lists as free has the text, of rows that are gone."""
    data = database.read_bytes()
    size = int.from_bytes(data[16:18], "big")
    size = LARGEST_PAGE if size == 1 else size
    free: set[int] = set()
    trunk = int.from_bytes(data[32:36], "big")
    while trunk:
        page = data[(trunk - 1) * size : trunk * size]
        following, count, *leaves = unpack(f">{size // 4}I", page)
        free |= {trunk, *leaves[:count]}
        trunk = following
    return any(text.encode() in data[(page - 1) * size : page * size] for page in free)


def _files(workspace: Workspace) -> Mapping[str, bytes]:
    """Every file's bytes by its place in the workspace, in the order of the names."""
    found: dict[str, bytes] = {}
    for path in sorted(path for path in workspace.directory.rglob("*") if path.is_file()):
        name = path.relative_to(workspace.directory).as_posix()
        if (data := _bytes(path)) is not None:
            found[name] = data
    return found


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None  # replaced or gone while we look


def _keeper(name: str) -> str:
    return next((keeper for start, keeper in _KEEPERS if name.startswith(start)), "bench")
