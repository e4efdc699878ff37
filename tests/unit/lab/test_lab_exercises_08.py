"""Exercise 08-1 tells a fence with a hole from one without, and from no fence."""

import pandas as pd

from lab.check import Outcome
from lab.exercise import exercise
from lab.views.flows import AWAY, HERE


def flows(*places: str) -> pd.DataFrame:
    return pd.DataFrame([{"process": "server", "to": "x", "where": place} for place in places])


def test_a_fence_with_a_hole_is_told_from_one_without() -> None:
    assert exercise("08-1", {"tracing": False}, flows(HERE, AWAY)).outcome is Outcome.VIOLATED
    assert exercise("08-1", {"tracing": False}, flows(HERE)).outcome is Outcome.HOLDS


def test_what_is_no_fence_is_refused_and_none_is_unanswered() -> None:
    assert exercise("08-1", "off", flows(HERE)).outcome is Outcome.VIOLATED
    assert exercise("08-1", ..., flows(HERE)).outcome is Outcome.UNKNOWN
