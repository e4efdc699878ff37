"""A drawing's columns share the room there is: the first who want some get it."""

import pytest

from lab.views.columns import LEAST, NARROW, Want, widths


def test_with_room_each_want_is_met_and_no_more_is_taken() -> None:
    wants = [Want(first=0, last=1, pixels=100), Want(first=1, last=3, pixels=50)]
    assert widths(4, 400, wants) == [100, 25, 25, NARROW]


def test_what_is_left_goes_to_the_first_who_wants_it() -> None:
    wants = [Want(first=2, last=3, pixels=60), Want(first=0, last=1, pixels=60)]
    given = widths(4, 130, wants)
    assert given == [30, NARROW, 60, NARROW]
    assert sum(given) == 130


def test_more_columns_than_fit_are_narrower_and_then_as_narrow_as_may_be() -> None:
    assert widths(50, 500, []) == [10] * 50
    assert widths(100, 500, [Want(first=0, last=1, pixels=90)]) == [LEAST] * 100


@pytest.mark.parametrize(("first", "last"), [(3, 3), (5, 7)])
def test_a_want_over_no_column_takes_nothing(first: int, last: int) -> None:
    assert widths(3, 400, [Want(first=first, last=last, pixels=90)]) == [NARROW] * 3


def test_no_columns_have_no_widths() -> None:
    assert widths(0, 500, [Want(first=0, last=0, pixels=90)]) == []
