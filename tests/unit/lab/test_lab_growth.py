"""A figure of what is stored has its title, labels and description, and a table with the same data."""

import pandas as pd
import pytest

from lab.views.growth import growth

FRAME = pd.DataFrame({"turn": [1, 2, 3], "full": [9, 17, 25], "delta": [5, 5, 5]})


def test_the_table_twin_has_every_value() -> None:
    view = growth(FRAME, "Stored by turn", unit="kB")
    assert view.text.splitlines() == [
        "Stored by turn (kB)",
        "  turn  full  delta",
        "  1     9     5",
        "  2     17    5",
        "  3     25    5",
    ]
    assert view.data is FRAME


@pytest.mark.parametrize(
    "part",
    [
        "<title>Stored by turn</title>",
        "<desc>By turn, from 1 to 3. full: from 9 to 25 kB; delta: from 5 to 5 kB.</desc>",
        'text-anchor="middle">turn</text>',
        ">kB</text>",
        ">full</text>",
        ">delta</text>",
        "<circle",
        "<rect",
    ],
)
def test_no_line_is_told_from_another_by_colour_alone(part: str) -> None:
    assert part in growth(FRAME, "Stored by turn", unit="kB").html


@pytest.mark.parametrize(("most", "top"), [(7, 8), (25, 40), (65, 80), (81, 200)])
def test_every_label_of_the_axis_is_a_whole_number(most: int, top: int) -> None:
    drawn = growth(FRAME.assign(full=[1, 2, most]), "t", unit="kB").html
    assert f'text-anchor="end">{top}</text>' in drawn
    assert f'text-anchor="end">{top // 4}</text>' in drawn


def test_one_turn_is_drawn_as_well() -> None:
    assert "<circle" in growth(FRAME.head(1), "t", unit="kB").html
