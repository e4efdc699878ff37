"""The checks of lesson 08 hold, are violated by a planted leak, and are unknown without evidence."""

import pandas as pd
import pytest

from lab.check import Outcome
from lab.fences import loads_nothing, not_sent, nothing_leaves
from lab.views.flows import AWAY, HERE, UNDECIDED

SENT = [{"method": "POST", "path": "/api/chat", "bytes": 9, "body": "a heliotrope"}]


def flows(*places: str) -> pd.DataFrame:
    rows = [{"flow": "configured", "process": "server", "to": "x", "where": at} for at in places]
    return pd.DataFrame(rows, columns=["flow", "process", "to", "where"])


@pytest.mark.parametrize(
    ("places", "outcome"),
    [
        ([HERE, HERE], Outcome.HOLDS),
        ([HERE, UNDECIDED], Outcome.UNKNOWN),
        ([HERE, UNDECIDED, AWAY], Outcome.VIOLATED),
        ([], Outcome.UNKNOWN),
    ],
)
def test_a_flow_that_leaves_is_a_fault_and_one_that_may_is_unknown(
    places: list[str], outcome: Outcome
) -> None:
    assert nothing_leaves(flows(*places)).outcome is outcome


def test_the_row_that_leaves_is_named() -> None:
    assert nothing_leaves(flows(HERE, AWAY)).findings == ("server: x (row 1)",)


def test_a_word_that_was_sent_is_found_once_with_where_it_went() -> None:
    verdict = not_sent(["heliotrope"], SENT * 3)
    assert verdict.findings == ("'heliotrope' in a POST to /api/chat",)
    assert not_sent(["heliotrope"], SENT, earlier=1).holds
    assert not_sent(["mauve"], SENT).holds


def test_a_collector_that_never_got_anything_proves_nothing() -> None:
    assert not_sent(["heliotrope"], []).outcome is Outcome.UNKNOWN
    assert not_sent([], SENT).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "html",
    ['<p><img src="x"></p>', "<link rel=preload>", '<b style="background:url(x)">', "<script>"],
)
def test_html_that_asks_for_something_is_a_fault(html: str) -> None:
    assert loads_nothing(html).outcome is Outcome.VIOLATED


def test_a_link_loads_nothing_until_it_is_clicked() -> None:
    assert loads_nothing('<p><a href="http://x.example/">x</a></p>').holds
    assert loads_nothing("").outcome is Outcome.UNKNOWN
