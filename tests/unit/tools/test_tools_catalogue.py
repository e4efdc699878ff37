"""What a server lists, as it is offered to a model."""

from __future__ import annotations

from typing import Any

import pytest

from sophos.tools.catalogue import DESCRIPTION_LIMIT, catalogue_of
from sophos.tools.servers import Remote, Server

SERVER = Server(
    name="lab",
    address=Remote(url="http://localhost", headers={}),
    optional=False,
    approval=frozenset(),
    timeout=None,
)


def described(**words: Any) -> str:
    """The description of one tool as a model is told it."""
    listed = {"name": "look", "inputSchema": {"type": "object"}, **words}
    return catalogue_of(SERVER, [listed])["lab__look"].tool.description


@pytest.mark.parametrize("field", ["description", "title"])
def test_a_description_without_end_is_cut_and_says_so(field: str) -> None:
    assert described(**{field: "x" * DESCRIPTION_LIMIT}) == "x" * DESCRIPTION_LIMIT
    told = described(**{field: "x" * 1_000_000})
    assert told.startswith("x" * DESCRIPTION_LIMIT + "\n\n[Cut here: 996,000 of 1,000,000")
    assert len(told) < DESCRIPTION_LIMIT + 100
