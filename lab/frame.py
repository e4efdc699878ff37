"""A data frame as the lab shows it: chosen columns, nothing shown as nothing, never cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd

SHOWN_ROWS: Final = 100
SHOWN_CHARACTERS: Final = 160  # of one cell of a frame
SHOWN_WIDTH: Final = 160  # characters of a frame's line, where it is shown as text

Row = Mapping[str, Any]


def frame(rows: Sequence[Row], columns: list[str], raw: Sequence[str] = ()) -> pd.DataFrame:
    """A frame with these columns alone; nothing is shown as nothing."""
    wanted = [*columns, *raw]
    cells = [{name: "" if row[name] is None else row[name] for name in wanted} for row in rows]
    return pd.DataFrame(cells, columns=wanted)


def show_all() -> None:
    """Have pandas show every column and row of a frame: evidence that is cut off is none."""
    pd.set_option("display.max_columns", None)
    pd.set_option("display.max_rows", SHOWN_ROWS)
    pd.set_option("display.max_colwidth", SHOWN_CHARACTERS)
    pd.set_option("display.width", SHOWN_WIDTH)
