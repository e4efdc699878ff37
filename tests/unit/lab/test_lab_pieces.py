"""Every streamed piece has one of four fates, told from planted streams and records."""

from typing import Any

from lab.stream import StreamEvent
from lab.views.pieces import Fate, pieces, redone_from


def token(step: int, text: str, kind: str = "answer") -> StreamEvent:
    data: dict[str, Any] = {"step": step, "kind": kind, "text": text, "message_id": f"r/{step}"}
    return StreamEvent(name="token", data=data, id=None)


def resumed(step: int) -> StreamEvent:
    return StreamEvent(name="trace", data={"event": "resume", "step": step}, id=None)


SHOWN = [token(1, "Hm", "reasoning"), token(1, "Hel"), token(1, "lo"), token(3, "Bye")]


def fates(record: dict[str, str], redone: int | None = None) -> list[Fate]:
    return [piece.fate for piece in pieces(SHOWN, record, redone)]


def test_what_the_record_has_word_for_word_is_kept_and_reasoning_is_told_apart() -> None:
    assert fates({"r/1": "Hello", "r/3": "Bye"}) == [Fate.REASONING, *[Fate.KEPT] * 3]


def test_what_no_record_has_was_never_durable() -> None:
    assert fates({"r/1": "Hello"})[3] is Fate.NEVER
    assert fates({}) == [Fate.NEVER] * 4


def test_what_a_later_run_did_again_is_superseded_and_earlier_steps_are_not() -> None:
    assert fates({"r/1": "Hello"}, redone=3) == [
        Fate.REASONING,
        Fate.KEPT,
        Fate.KEPT,
        Fate.SUPERSEDED,
    ]
    assert redone_from([[token(3, "x")], [resumed(5), resumed(3)]]) == 3
    assert redone_from([]) is None


def test_a_record_with_other_words_did_not_keep_the_streamed_ones() -> None:
    assert fates({"r/1": "Hallo", "r/3": "Bye"})[:3] == [Fate.NEVER] * 3
