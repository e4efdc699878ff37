"""Several conversations side by side: what is recorded of each, and whether work is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pandas as pd

from lab.bench import Bench

COLUMNS: Final = ["what", "status", "code", "next", "resumable"]


def outlook(bench: Bench, conversations: Mapping[str, str]) -> pd.DataFrame:
    """One row per conversation, as it is now; the keys say what happened to it.

    `status` and `code` are the newest run's row, `next` is what the newest checkpoint says is to
    run, and `resumable` is the server's own answer.
    """
    rows = []
    for what, conversation in conversations.items():
        run = bench.client.runs(conversation)[-1]
        steps = bench.tables.checkpoints(conversation)["next"]
        told = {"what": what, "status": run["status"], "code": (run["error"] or {}).get("code", "")}
        told["next"] = "" if steps.empty else steps.iloc[-1]
        rows.append(told | {"resumable": bench.client.read(conversation)["resumable"]})
    return pd.DataFrame(rows, columns=COLUMNS)
