"""Guessing is slow, for whoever guesses and for nobody else."""

from __future__ import annotations

import pytest

from sophos.errors import TooManyGuesses
from sophos.web.guesses import ADDRESSES, MOST, WINDOW, Guesses


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def used_up(address: str, clock: Clock) -> Guesses:
    guesses = Guesses(clock)
    for _ in range(MOST):
        guesses.refuse_too_many(address)
        guesses.count(address)
    return guesses


def test_after_so_many_wrong_tokens_an_address_has_to_wait() -> None:
    clock = Clock()
    guesses = used_up("10.0.0.1", clock)
    clock.now += 20.5
    with pytest.raises(TooManyGuesses) as refused:
        guesses.refuse_too_many("10.0.0.1")
    assert refused.value.wait == WINDOW - 20
    clock.now += refused.value.wait
    guesses.refuse_too_many("10.0.0.1")


def test_another_address_does_not_have_to_wait() -> None:
    used_up("10.0.0.1", Clock()).refuse_too_many("10.0.0.2")


def test_a_machine_that_has_a_whole_network_is_one_address() -> None:
    guesses = used_up("2001:db8::1", Clock())
    with pytest.raises(TooManyGuesses):
        guesses.refuse_too_many("2001:db8::ffff%eth0")
    guesses.refuse_too_many("2001:db8:0:1::1")


def test_an_ipv4_address_is_one_machine_in_either_form() -> None:
    guesses = used_up("::ffff:10.0.0.1", Clock())
    with pytest.raises(TooManyGuesses):
        guesses.refuse_too_many("10.0.0.1")
    guesses.refuse_too_many("::ffff:10.0.0.2")
    guesses.refuse_too_many("::1")


def test_what_is_remembered_has_an_end() -> None:
    guesses = used_up("10.0.0.1", Clock())
    for number in range(ADDRESSES):
        guesses.count(f"client-{number}")
    guesses.refuse_too_many("10.0.0.1")
