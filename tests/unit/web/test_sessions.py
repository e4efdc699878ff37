"""A session holds until its time, for the token it was issued for, and cannot be made up."""

from __future__ import annotations

import pytest

from sophos.web.sessions import LASTS, Sessions, sessions_in

NOW = 1_800_000_000.0
SESSIONS = Sessions("correct-horse-battery")


def test_a_session_holds_until_its_time_and_not_longer() -> None:
    value = SESSIONS.issue(NOW)
    assert SESSIONS.holds(value, NOW)
    assert SESSIONS.holds(value, NOW + LASTS - 1)
    assert not SESSIONS.holds(value, NOW + LASTS)


def test_a_session_outlives_its_process_and_not_its_token() -> None:
    value = SESSIONS.issue(NOW)
    assert Sessions("correct-horse-battery").holds(value, NOW)
    assert not Sessions("another-horse-battery").holds(value, NOW)


def test_a_session_says_nothing_of_the_token() -> None:
    assert "horse" not in SESSIONS.issue(NOW)


def test_a_session_that_was_changed_does_not_hold() -> None:
    value = SESSIONS.issue(NOW)
    until, name, signature = value.split(".")
    later = f"{int(until) + 1}.{name}.{signature}"
    for changed in (later, f"0{value}", value[:-1], f"{until}.{signature}", f"{until}.{name}."):
        assert not SESSIONS.holds(changed, NOW)


def test_a_session_that_was_ended_holds_no_longer_and_no_other_ends_with_it() -> None:
    one, other = SESSIONS.issue(NOW), SESSIONS.issue(NOW)
    SESSIONS.end(one, NOW)
    assert not SESSIONS.holds(one, NOW)
    assert SESSIONS.holds(other, NOW)


@pytest.mark.parametrize("value", ["", ".", "é.é", "٣.0", "-1." + "0" * 64, "9" * 5000])
def test_what_was_never_a_session_does_not_hold(value: str) -> None:
    assert not SESSIONS.holds(value, NOW)


def test_every_session_of_a_browser_is_looked_at() -> None:
    assert list(sessions_in("a=1; sophos_session=x;sophos_session=y; b")) == ["x", "y"]
