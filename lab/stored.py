"""What a thread costs on disk: bytes by turn, and how often one text is stored.

Sizes differ by a few bytes from run to run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from lab.snapshot import snapshot

_INPUT: Final = "input"
_HOLDS: Final = {
    "checkpoints": "SELECT checkpoint FROM checkpoints WHERE thread_id = ?",
    "writes": "SELECT value FROM writes WHERE thread_id = ?",
}


def bytes_by_turn(checkpoints: pd.DataFrame, writes: pd.DataFrame) -> pd.Series[int]:
    """The bytes of both by turn, from 1: a turn is an input and what followed until the next.

    They are `tables.checkpoints(c, raw=True)` and `tables.writes(c, raw=True)` of one conversation.
    """
    turns = (checkpoints["source"] == _INPUT).cumsum()
    turn_of = dict(zip(checkpoints["id"], turns, strict=True))
    rows = pd.concat(
        [
            pd.DataFrame({"turn": turns, "bytes": checkpoints["bytes"]}),
            pd.DataFrame({"turn": writes["checkpoint"].map(turn_of), "bytes": writes["bytes"]}),
        ]
    )
    return rows.groupby("turn")["bytes"].sum()


def stored_copies(database: Path, conversation: str, text: str) -> int:
    """How many rows of a thread hold this text, word for word. `conversation` is its id."""
    wanted = text.encode()
    with snapshot(database) as read:
        return sum(
            wanted in bytes(row[0] or b"")
            for table, sql in _HOLDS.items()
            for row in read(table, sql, conversation)
        )
