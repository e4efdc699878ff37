"""Where the server listens, and what it calls itself."""

from __future__ import annotations

import pytest

from sophos.errors import StartupError
from sophos.web.listener import listen, port_of, url, url_of


def test_port_0_picks_a_free_one() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{port_of(listener)}"
        assert port_of(listener) > 0


@pytest.mark.parametrize(
    ("host", "called"),
    [
        ("127.0.0.1", "http://127.0.0.1:1"),
        ("::1", "http://[::1]:1"),
        ("fe80::1%eth0", "http://[fe80::1]:1"),
        ("0.0.0.0", "http://localhost:1"),
        ("::", "http://localhost:1"),
    ],
)
def test_the_address_is_one_that_can_be_opened(host: str, called: str) -> None:
    assert url(host, 1) == called


def test_a_busy_port_is_refused_with_the_remedy() -> None:
    with (
        listen("127.0.0.1", 0) as taken,
        pytest.raises(StartupError, match=r"taken\. .* set PORT"),
    ):
        listen("127.0.0.1", port_of(taken))
