"""Exact replies, written beforehand: what a lesson or a test makes the model do, step by step.

A script is a list of turns, one for each request. A turn is a list of steps, or one step alone;
a bare `think` belongs to the turn after it. Steps are plain JSON, made by the functions here:

    script([
        think("I need the page."), call("fetch__fetch", url="http://…"),   # first request
        [call("a"), call("b")],                                          # second: two calls at once
        [say("A long answer …"), cut(after=3)],                          # third: breaks off
        fail(503, "overloaded"),                                         # fourth
    ])

A turn that says only how it ends, such as `cut(after=3)`, ends that way what would have been
answered without a script. When the script is used up, the model answers by understanding again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lab.model.reply import Call, End, Ending, Line, Part, Say, Think

Step = dict[str, Any]
Turn = Step | Sequence[Step]


class ScriptError(ValueError):
    """A script that cannot be played; the message names the turn and the step."""


def think(text: str) -> Step:
    return {"do": "think", "text": text}


def say(text: str) -> Step:
    return {"do": "say", "text": text}


def call(name: str, /, **arguments: Any) -> Step:
    return {"do": "call", "name": name, "arguments": arguments}


def call_with(name: str, arguments: Any) -> Step:
    """Call with arguments of any shape, as a model that does not keep to the schema."""
    return {"do": "call", "name": name, "arguments": arguments}


def line(text: str) -> Step:
    """Put this line into the stream, JSON or not."""
    return {"do": "line", "text": text}


def empty() -> Step:
    """Say `done` at once, with no thinking, no text and no call."""
    return {"do": "empty"}


def length(after: int | None = None) -> Step:
    """Stop after so many tokens for the reason `length`."""
    return {"do": "length", "after": after}


def cut(after: int | None = None, *, reset: bool = False) -> Step:
    """End the stream after so many tokens without `done`; with `reset`, break the connection."""
    return {"do": "reset" if reset else "cut", "after": after}


def hang() -> Step:
    """Take the request and never answer."""
    return {"do": "hang", "after": 0}


def hang_after(tokens: int) -> Step:
    """Send so many tokens, then nothing more."""
    return {"do": "hang", "after": tokens}


def fail(status: int, message: str = "The scripted model fails on purpose.") -> Step:
    """Answer with this status and message instead of a stream."""
    return {"do": "fail", "status": status, "message": message}


def error_line(
    message: str = "The scripted model fails on purpose.", *, after: int | None = None
) -> Step:
    """Begin as if all were well, then send an error line and nothing more."""
    return {"do": "error", "after": after, "message": message}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _is_failing_status(value: Any) -> bool:
    return type(value) is int and 400 <= value < 600


def _is_anything(value: Any) -> bool:  # noqa: ARG001 -- a field's check takes its value
    return True


FIELDS: Final[dict[str, dict[str, Callable[[Any], bool]]]] = {
    "think": {"text": _is_text},
    "say": {"text": _is_text},
    "call": {"name": _is_text, "arguments": _is_anything},
    "line": {"text": _is_text},
    "empty": {},
    "length": {"after": _is_count},
    "cut": {"after": _is_count},
    "reset": {"after": _is_count},
    "hang": {"after": _is_count},
    "fail": {"status": _is_failing_status, "message": _is_text},
    "error": {"after": _is_count, "message": _is_text},
}
"""What each step holds besides `do`, and what it may be."""

PARTS: Final = frozenset({"think", "say", "call", "line", "empty"})


@dataclass(frozen=True, kw_only=True)
class ScriptedTurn:
    """One turn, read. `parts` is None when the turn says only how it ends."""

    parts: tuple[Part, ...] | None
    ending: Ending


def read_script(value: Any) -> list[ScriptedTurn]:
    """Read a script from JSON; raises ScriptError and names what is wrong with it."""
    if not isinstance(value, list):
        raise ScriptError("A script is a list of turns.")
    return [_read_turn(turn, number) for number, turn in enumerate(_joined(value), 1)]


def _joined(turns: list[Any]) -> list[list[Any]]:
    """Every turn as a list of steps, each bare `think` at the head of the turn after it."""
    joined: list[list[Any]] = []
    thoughts: list[Any] = []
    for turn in turns:
        if isinstance(turn, dict) and turn.get("do") == "think":
            thoughts.append(turn)
        else:
            joined.append(thoughts + (turn if isinstance(turn, list) else [turn]))
            thoughts = []
    return [*joined, thoughts] if thoughts else joined


def _read_turn(steps: list[Any], number: int) -> ScriptedTurn:
    if not steps:
        raise ScriptError(f"Turn {number} has no step. Use empty() for a reply without content.")
    for step in steps:
        _check_step(step, f"Turn {number}")
    endings = [step for step in steps if step["do"] not in PARTS]
    if len(endings) > 1:
        raise ScriptError(f"Turn {number} ends in {len(endings)} ways. A turn ends once.")
    parts = [_part(step) for step in steps if step["do"] in PARTS - {"empty"}]
    only_ends = len(endings) == len(steps)
    return ScriptedTurn(
        parts=None if only_ends else tuple(parts),
        ending=_ending(endings[0]) if endings else Ending(),
    )


def _check_step(step: Any, where: str) -> None:
    if not isinstance(step, dict) or step.get("do") not in FIELDS:
        raise ScriptError(f"{where}: {step!r:.80} is no step. There are {', '.join(FIELDS)}.")
    fields = FIELDS[step["do"]]
    if step.keys() - {"do"} != fields.keys():
        wanted = ", ".join(fields) or "nothing more"
        raise ScriptError(f"{where}: the step {step['do']!r} holds {wanted}.")
    for name, may_be in fields.items():
        if not may_be(step[name]):
            raise ScriptError(f"{where}: {name} of {step['do']!r} cannot be {step[name]!r:.80}.")


def _part(step: Step) -> Part:
    match step["do"]:
        case "think":
            return Think(step["text"])
        case "say":
            return Say(step["text"])
        case "line":
            return Line(step["text"])
        case _:
            return Call(step["name"], step["arguments"])


def _ending(step: Step) -> Ending:
    return Ending(
        kind=End(step["do"]),
        after=step.get("after"),
        status=step.get("status", 200),
        message=step.get("message", ""),
    )
