from collections.abc import Iterator

import pytest
from page import Stage


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """One browser and one server in front of a scripted runtime, shared by every test of the page."""
    with Stage() as stage:
        yield stage
