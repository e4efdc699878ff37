"""A script is played as it is written, or refused with the place of its mistake."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.model.reply import Call, End, Ending, Line, Say, Think
from lab.model.script import (
    ScriptError,
    call,
    call_with,
    cut,
    empty,
    error_line,
    fail,
    hang,
    hang_after,
    length,
    line,
    read_script,
    say,
    think,
)


def test_a_bare_think_belongs_to_the_turn_after_it() -> None:
    first, second = read_script([think("a"), call("t", x=1), say("b")])
    assert first.parts == (Think("a"), Call("t", {"x": 1}))
    assert second.parts == (Say("b"),)


def test_a_think_at_the_end_is_a_turn() -> None:
    (turn,) = read_script([think("a")])
    assert turn.parts == (Think("a"),)


def test_a_list_is_one_turn() -> None:
    (turn,) = read_script([[call("a"), call_with("b", "text"), line("<html>")]])
    assert turn.parts == (Call("a", {}), Call("b", "text"), Line("<html>"))


@pytest.mark.parametrize(
    ("step", "ending"),
    [
        (cut(after=3), Ending(kind=End.CUT, after=3)),
        (cut(after=3, reset=True), Ending(kind=End.RESET, after=3)),
        (hang(), Ending(kind=End.HANG, after=0)),
        (hang_after(3), Ending(kind=End.HANG, after=3)),
        (length(), Ending(kind=End.LENGTH)),
        (error_line("no", after=3), Ending(kind=End.ERROR, after=3, message="no")),
        (fail(503, "no"), Ending(kind=End.FAIL, status=503, message="no")),
    ],
)
def test_a_turn_that_only_ends_says_nothing_itself(step: dict[str, Any], ending: Ending) -> None:
    (turn,) = read_script([step])
    assert turn.parts is None
    assert turn.ending == ending


def test_an_empty_turn_says_nothing_and_is_done() -> None:
    (turn,) = read_script([empty()])
    assert (turn.parts, turn.ending) == ((), Ending())


def test_a_script_survives_json() -> None:
    script = [[think("a"), call("t", x=[1, None])], say("b"), cut(), fail(500), hang()]
    assert read_script(json.loads(json.dumps(script))) == read_script(script)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("say", "A script is a list of turns"),
        ([[]], "Turn 1 has no step"),
        ([say("a"), "b"], "Turn 2: 'b' is no step"),
        ([{"do": "dance"}], "'dance'} is no step"),
        ([{"do": "say"}], "the step 'say' holds text"),
        ([{"do": "say", "text": "a", "more": 1}], "the step 'say' holds text"),
        ([{"do": "say", "text": 1}], "text of 'say' cannot be 1"),
        ([{"do": "cut", "after": -1}], "after of 'cut' cannot be -1"),
        ([{"do": "cut", "after": True}], "after of 'cut' cannot be True"),
        ([{"do": "fail", "status": 200, "message": ""}], "status of 'fail' cannot be 200"),
        ([[cut(), hang()]], "Turn 1 ends in 2 ways"),
    ],
)
def test_a_mistake_is_named_with_its_place(script: Any, complaint: str) -> None:
    with pytest.raises(ScriptError) as raised:
        read_script(script)
    assert complaint in str(raised.value)
