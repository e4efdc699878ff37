"""What stays here, as checks that can fail: destinations, what was sent, and what a page loads.

As in lab/promises.py, each takes plain frames or lists and is *unknown* without evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any, Final

import pandas as pd

from lab.check import Verdict, check, counted
from lab.views.flows import AWAY, UNDECIDED

# What makes a browser ask for something before anybody has clicked.
_LOADING_TAGS: Final = frozenset({"script", "iframe", "frame", "embed", "object", "link", "style"})
_LOADING_ATTRIBUTES: Final = frozenset(
    {"src", "srcset", "poster", "background", "data", "style", "ping", "imagesrcset"}
)


def nothing_leaves(flows: pd.DataFrame) -> Verdict:
    """No destination lies outside this machine. `flows` is `data_flows(bench).data`.

    *Unknown* where a flow goes wherever it is told: no list of destinations can vouch for that one.
    """
    told = {
        where: [f"{row.process}: {row.to} (row {row.Index})" for row in rows.itertuples()]
        for where, rows in flows.groupby("where")
    }
    open_doors = [f"where this one goes: {row}" for row in told.get(UNDECIDED, [])]
    return check(
        "no flow leaves this machine",
        faults=told.get(AWAY, []),
        seen=counted(len(flows), "flow"),
        missing=open_doors if len(flows) else ["a flow"],
    )


def not_sent(
    words: Sequence[str], received: Sequence[Mapping[str, Any]], earlier: int = 0
) -> Verdict:
    """Since the first `earlier` requests, none of these words came to the collector.

    `received` is `bench.collector.received()`. Without a single request in it, earlier ones too,
    nobody knows that the collector listens.
    """
    since = received[earlier:]
    # How many requests one thing is sent in is the sender's affair.
    faults = dict.fromkeys(
        f"{word!r} in a {request['method']} to {request['path']}"
        for request in since
        for word in words
        if word in request["body"]
    )
    missing = [] if words else ["words to look for"]
    missing += [] if received else ["a request that shows that the collector listens"]
    return check(
        "none of these words was sent out",
        faults=faults,
        seen=f"{counted(len(since), 'request')} since, {earlier} before",
        missing=missing,
    )


def loads_nothing(html: str | None) -> Verdict:
    """A browser that shows this HTML asks for nothing by itself."""
    page = _Page()
    page.feed(html or "")
    page.close()
    return check(
        "showing the answer loads nothing",
        faults=page.loading,
        seen=counted(page.tags, "tag"),
        missing=[] if html else ["the answer as HTML"],
    )


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags = 0
        self.loading: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags += 1
        by = sorted({name for name, _ in attrs} & _LOADING_ATTRIBUTES)
        if by or tag in _LOADING_TAGS:
            self.loading.append(f"tag {self.tags}: <{' '.join([tag, *by])}>")
