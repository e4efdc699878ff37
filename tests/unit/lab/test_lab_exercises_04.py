"""Lesson 04's exercise: a reader of two runs is right, is wrong, or has nothing to read."""

from collections.abc import Sequence

from lab.check import Outcome
from lab.exercise import exercise, hint
from lab.stream import StreamEvent, text

RECORD = [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "one other end"}]


def token(words: str, *, run: str, step: int = 1, kind: str = "answer") -> StreamEvent:
    data = {"text": words, "kind": kind, "step": step, "message_id": f"{run}/{step}"}
    return StreamEvent(name="token", data=data, id=None)


RESUMED = StreamEvent(name="trace", data={"event": "resume", "step": 1, "data": {}}, id=None)
CUT = [token("Hm.", run="a", kind="reasoning"), token("one", run="a"), token(" two", run="a")]
REST = [RESUMED, token("one", run="b"), token(" other", run="b"), token(" end", run="b")]


def every_piece(events: Sequence[StreamEvent]) -> str:
    return "".join(event.data["text"] for event in events if event.data.get("kind") == "answer")


def test_a_reader_that_lets_the_resume_supersede_is_right() -> None:
    verdict = exercise("04-1", lambda events: text(events).answer, CUT + REST, RECORD)
    assert verdict.outcome is Outcome.HOLDS


def test_a_reader_that_adds_up_every_piece_is_wrong() -> None:
    verdict = exercise("04-1", every_piece, CUT + REST, RECORD)
    assert verdict.outcome is Outcome.VIOLATED
    assert "words" in verdict.findings[0]


def test_a_reader_that_gives_no_text_is_wrong() -> None:
    verdict = exercise("04-1", lambda _: None, CUT + REST, RECORD)
    assert verdict.findings == ("the reader gave NoneType, not a text",)


def test_a_reader_that_knows_the_answer_and_reads_nothing_is_wrong() -> None:
    verdict = exercise("04-1", lambda _: "one other end", CUT + REST, RECORD)
    assert verdict.outcome is Outcome.VIOLATED
    assert "did not read" in verdict.findings[0]


def test_a_reader_that_keeps_the_last_run_alone_loses_what_the_first_had_saved() -> None:
    def last_run(events: Sequence[StreamEvent]) -> str:
        at = [n for n, event in enumerate(events) if event.data.get("event") == "resume"]
        return every_piece(events[at[-1] :])

    verdict = exercise("04-1", last_run, CUT + REST, RECORD)
    assert verdict.outcome is Outcome.VIOLATED
    assert "saved a step before" in verdict.findings[0]


def test_without_both_runs_or_the_record_nobody_can_tell() -> None:
    assert exercise("04-1", every_piece, CUT, RECORD).outcome is Outcome.UNKNOWN
    assert exercise("04-1", every_piece, [], RECORD).outcome is Outcome.UNKNOWN
    assert exercise("04-1", every_piece, CUT + REST, None).outcome is Outcome.UNKNOWN
    assert exercise("04-1").outcome is Outcome.UNKNOWN


def test_the_hints_lead_to_the_resume() -> None:
    assert "`resume`" in hint("04-1", 3).text
