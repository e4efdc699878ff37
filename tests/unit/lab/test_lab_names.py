"""Short names are the same in every run and stay with what they name."""

from lab.names import Names


def test_things_are_numbered_kind_by_kind_in_the_order_they_come() -> None:
    names = Names()
    told = [names.of("run", "a"), names.of("call", "a"), names.of("run", "b"), names.of("run", "a")]
    assert told == ["run 1", "call 1", "run 2", "run 1"]


def test_nothing_has_no_name_and_uses_up_no_number() -> None:
    names = Names()
    assert [names.of("run", None), names.of("run", "a")] == ["", "run 1"]


def test_calls_are_counted_in_their_own_thread() -> None:
    names = Names()
    told = [names.of("call", "a", among="t1"), names.of("call", "b", among="t2")]
    assert told == ["call 1", "call 1"]


def test_a_name_leads_back_to_its_id_and_an_id_is_itself() -> None:
    names = Names()
    names.of("conversation", "0-a")
    names.of("run", "0-b")
    assert names.identity("run 1") == "0-b"
    assert names.identity("conversation 1") == "0-a"
    assert names.identity("0-b") == "0-b"
    assert names.identity("run 2") == "run 2"
