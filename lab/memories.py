"""Six things that remember, and which of them hold a word now: read from files and from requests.

    memories(bench, "heliotrope")             one row a memory: whose it is, when it is written
    forgotten(memories(bench, "heliotrope"))  a verdict: none that lasts holds it

What a memory says when it is asked is read here. Its bytes may say more: that is lab/copies.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pandas as pd

from lab.bench import Bench
from lab.check import Verdict, check
from lab.frame import frame
from lab.snapshot import snapshot

UNKNOWN: Final = "unknown"
CONTEXT: Final = "context"
_COLUMNS: Final = ("memory", "owner", "written", "holds_it")
_TITLES: Final = "SELECT id, title FROM conversations WHERE deleted_at IS NULL ORDER BY created_at"
_INPUTS: Final = "SELECT id, input FROM runs ORDER BY sequence"


def memories(bench: Bench, word: str) -> pd.DataFrame:
    """`holds_it` names where in the memory the word is; it is empty where it is not.

    The context is that of the newest request. The weights are named and not looked into.
    """
    requests = bench.model.requests() if bench.is_scripted else None
    sent = requests[-1]["body"]["messages"] if requests else []
    rows = (
        ("weights", "model server", "in training, by no conversation", ""),
        (CONTEXT, "Sophos", "anew for each request", _roles(sent, word)),
        ("threads", "LangGraph", "after each step", _listed(_threads(bench, word))),
        ("list", "Sophos", "with each message", _listed(_rows(bench, word))),
        ("knowledge graph", "Memory server", "when the model calls a tool", _graph(bench, word)),
        ("requests", "model server", "with each request", _requests(requests, word)),
    )
    unknown = {CONTEXT, "requests"} if requests is None else set()
    told = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    for row in told:
        row["holds_it"] = UNKNOWN if row["memory"] in unknown else row["holds_it"]
    return frame(told, list(_COLUMNS))


def forgotten(found: pd.DataFrame) -> Verdict:
    """No memory that lasts holds the word. A context lasts for one request."""
    held = {str(row["memory"]): str(row["holds_it"]) for row in found.to_dict("records")}
    held.pop(CONTEXT, None)
    return check(
        "no memory that lasts holds it",
        faults=[f"{name}: {where}" for name, where in held.items() if where not in ("", UNKNOWN)],
        seen=", ".join(held),
        missing=[f"a look into the {name}" for name, where in held.items() if where == UNKNOWN],
    )


def _roles(messages: Iterable[dict[str, Any]], word: str) -> str:
    return _listed(message["role"] for message in messages if word in str(message))


def _threads(bench: Bench, word: str) -> Iterable[str]:
    for name in bench.tables.conversations()["conversation"]:
        states = bench.tables.thread(name).states
        if states and any(word in message.model_dump_json() for message in states[-1]):
            yield str(name)


def _rows(bench: Bench, word: str) -> Iterable[str]:
    """Titles of conversations, inputs of runs."""
    conversations = bench.tables.conversations(raw=True)
    runs = bench.tables.runs(raw=True)
    names = dict(zip(conversations["id"], conversations["conversation"], strict=True))
    names |= dict(zip(runs["id"], runs["run"], strict=True))
    with snapshot(bench.workspace.database) as read:
        titles, inputs = read("conversations", _TITLES), read("runs", _INPUTS)
    yield from (f"title of {names[row['id']]}" for row in titles if word in row["title"])
    yield from (f"input of {names[row['id']]}" for row in inputs if word in (row["input"] or ""))


def _graph(bench: Bench, word: str) -> str:
    rows = bench.tables.memory().to_dict("records")
    return _listed(f"{row['kind']} {row['name']}" for row in rows if word in str(row))


def _requests(requests: list[dict[str, Any]] | None, word: str) -> str:
    count = sum(word in str(request["body"]) for request in requests or [])
    return f"{count} of {len(requests or [])}" if count else ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
