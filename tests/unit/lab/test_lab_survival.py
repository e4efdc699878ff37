"""What a crash does to a piece of state follows from three looks at it."""

import pandas as pd
import pytest

from lab.survival import DIES, PIECES, REBUILT, SURVIVES, fates


def looked(*there: bool) -> pd.DataFrame:
    places = ["a file"] * len(there)
    return pd.DataFrame({"piece": PIECES[: len(there)], "where": places, "there": there})


@pytest.mark.parametrize(
    ("before", "dead", "after", "fate"),
    [
        (True, True, True, SURVIVES),
        (True, True, False, SURVIVES),
        (True, False, True, REBUILT),
        (True, False, False, DIES),
        (False, True, True, ""),
        (False, False, False, ""),
    ],
)
def test_each_fate_follows_from_what_was_there(
    before: bool, dead: bool, after: bool, fate: str
) -> None:
    frame = fates(looked(before), looked(dead), looked(after))
    assert list(frame["fate"]) == [fate]


def test_there_are_twelve_pieces_each_named_once() -> None:
    assert len(set(PIECES)) == len(PIECES) == 12
