"""The stages of a run, from the message to its end: how often each happened, and what is kept of it.

Counts everything on the bench so far; what one run did is the difference of two walks. Nothing is
stored here: all of it is read from the bench's tables, so from files and from what a viewer saw.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import pandas as pd

if TYPE_CHECKING:
    from lab.tables import Tables

_CONVERSATIONS: Final = "sophos.db: conversations"
_RUNS: Final = "sophos.db: runs"
_CHECKPOINTS: Final = "sophos.db: checkpoints"
_WRITES: Final = "sophos.db: writes"
_PROCESS: Final = "memory of the process"
_SOPHOS: Final = "Sophos"
_LANGGRAPH: Final = "LangGraph"


def walk(tables: Tables) -> pd.DataFrame:
    """One row per stage, in the order in which a run first passes them.

    `happened` is what viewers were told, where the stream tells of the stage; else it is `kept`.
    """
    conversations, runs = tables.conversations(), tables.runs()
    threads = conversations["conversation"]
    told = sum((_told(tables.events(run)) for run in runs["run"]), Counter[str]())
    saved = sum((_saved(tables.checkpoints(thread)) for thread in threads), Counter[str]())
    results = sum(_results(tables.writes(thread)) for thread in threads)
    ended = sum(status not in {"running", "waiting"} for status in runs["status"])
    stages = [
        ("conversation created", _CONVERSATIONS, _SOPHOS, None, len(conversations)),
        ("run recorded", _RUNS, _SOPHOS, None, len(runs)),
        ("input saved", _CHECKPOINTS, _LANGGRAPH, None, saved["input"]),
        ("model asked", "nowhere", _SOPHOS, told["enter agent"], 0),
        ("reply streamed", _PROCESS, _SOPHOS, told["token"], 0),
        ("reply saved", _CHECKPOINTS, _LANGGRAPH, told["leave agent"], saved["agent"]),
        ("tool called", "nowhere", _SOPHOS, told["call"], 0),
        ("site visited", "ledger of the site", "web site", None, len(tables.visits())),
        ("entity saved", "memory.jsonl", "Memory server", None, len(tables.memory())),
        ("result saved", _WRITES, _LANGGRAPH, told["result"], results),
        ("tools step saved", _CHECKPOINTS, _LANGGRAPH, told["leave tools"], saved["tools"]),
        ("outcome recorded", _RUNS, _SOPHOS, None, ended),
        ("end announced", _PROCESS, _SOPHOS, told["end"] + told["chat-error"], 0),
    ]
    rows = [
        {"stage": stage, "where": where, "owner": owner}
        | {"happened": kept if seen is None else seen, "kept": kept}
        for stage, where, owner, seen, kept in stages
    ]
    return pd.DataFrame(rows)


def _told(events: pd.DataFrame) -> Counter[str]:
    """How often viewers of a run were told of a thing; a reply is one, however many its pieces."""
    told = Counter(token=events.query("event == 'token'")["step"].nunique())
    for name, what in zip(events["event"], events["what"], strict=True):
        word = what.partition(" ")[0]
        if name == "trace":
            told[what if word in {"enter", "leave"} else word] += 1
        elif name != "token":
            told[name] += 1
    return told


def _saved(checkpoints: pd.DataFrame) -> Counter[str]:
    """How many checkpoints of a thread hold an input, how many each node's step."""
    # What a checkpoint holds is what the one before it said comes next.
    before = ["__start__", *checkpoints["next"]]
    return Counter("input" if node in {"__start__", ""} else node for node in before[:-1])


def _results(writes: pd.DataFrame) -> int:
    return sum(what.startswith("result of ") for what in writes["what"])
