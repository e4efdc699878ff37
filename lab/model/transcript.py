"""A request read as a conversation: what is asked now, what was done about it, what came before.

The protocol carries no call ids: the results after an assistant's message belong to its calls in
order, and nothing but their text says whether a call worked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from lab.model.prompt import QUOTES

ERROR_LENGTH: Final = 400  # characters; what is longer is content
PAGE: Final = "Contents of "
FAILURE: Final = re.compile(
    r"\b(?:errors?|fail(?:ed|ure|s)?|not found|no such|unknown|invalid|timed out|timeout|abandoned"
    r"|rejected|refused|denied|unavailable|unreachable|cannot|could not|may or may not)\b",
    re.IGNORECASE,
)
GO_ON: Final = re.compile(
    r"\s*(?:please\s+)?(?:continue|go on|carry on|keep going|try (?:it )?again|again|retry|resume)"
    r"(?:\s+please)?\s*[.!]*\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A tool call and the text it gave; None when the conversation holds no answer to it."""

    tool: str
    arguments: dict[str, Any]
    result: str | None

    @property
    def failed(self) -> bool:
        return self.result is None or is_failure(self.result)

    @property
    def words(self) -> str:
        """What the tool said, on one line, short enough to quote."""
        text = " ".join((self.result or "nothing").split())
        return text if len(text) <= ERROR_LENGTH else text[:ERROR_LENGTH] + " …"


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """`steps` were made for `task`; `user_said` and `pages` are of the turns before it."""

    task: str
    steps: tuple[Step, ...]
    user_said: tuple[str, ...]
    last_answer: str | None
    pages: tuple[str, ...]
    tools: dict[str, dict[str, Any]]


def is_failure(result: str) -> bool:
    """Whether a tool's text reads like an error: short, no JSON, no page, and words of failure."""
    text = result.strip()
    if text.startswith(PAGE) or len(text) > ERROR_LENGTH:
        return False
    try:
        value = json.loads(text)
    except ValueError:
        return FAILURE.search(QUOTES.sub("", text)) is not None
    return isinstance(value, dict) and bool(value.get("error"))


def read_transcript(messages: Sequence[dict[str, Any]], tools: Sequence[Any]) -> Transcript:
    asked = [index for index, message in enumerate(messages) if _role(message) == "user"]
    first, end = _newest_task(messages, asked)
    steps = _steps(messages[end:])
    while GO_ON.fullmatch(_text(messages, first, end)):
        earlier = [index for index in asked if index < first]
        if not earlier:
            break
        # "Go on" means the task before it, of which what worked is done and what failed is not.
        newer = first
        first, end = _newest_task(messages, earlier)
        steps = [step for step in _steps(messages[end:newer]) if not step.failed] + steps
    before = messages[:first]
    answers = [_content(m) for m in before if _role(m) == "assistant" and _content(m).strip()]
    return Transcript(
        task=_text(messages, first, end),
        steps=tuple(steps),
        user_said=tuple(_content(m) for m in before if _role(m) == "user"),
        last_answer=answers[-1] if answers else None,
        pages=tuple(step.result for step in _steps(before) if _is_page(step) and step.result),
        tools=dict(_offered(tool) for tool in tools),
    )


def _newest_task(messages: Sequence[dict[str, Any]], asked: Sequence[int]) -> tuple[int, int]:
    """From and to of the newest user messages that stand together: nobody answered between them."""
    if not asked:
        return len(messages), len(messages)
    first = end = asked[-1]
    while first > 0 and _role(messages[first - 1]) == "user":
        first -= 1
    return first, end + 1


def _text(messages: Sequence[dict[str, Any]], first: int, end: int) -> str:
    return "\n".join(_content(message) for message in messages[first:end])


def _steps(messages: Sequence[dict[str, Any]]) -> list[Step]:
    steps: list[Step] = []
    for index, message in enumerate(messages):
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            continue
        results: list[str] = []
        for answer in messages[index + 1 :]:
            if _role(answer) != "tool":
                break
            results.append(_content(answer))
        for position, call in enumerate(calls):
            function = _object(call, "function")
            arguments = function.get("arguments")
            steps.append(
                Step(
                    tool=str(function.get("name", "")),
                    arguments=arguments if isinstance(arguments, dict) else {},
                    result=results[position] if position < len(results) else None,
                )
            )
    return steps


def _is_page(step: Step) -> bool:
    return step.result is not None and step.result.startswith(PAGE)


def _offered(tool: Any) -> tuple[str, dict[str, Any]]:
    function = _object(tool, "function")
    properties = _object(_object(function, "parameters"), "properties")
    return str(function.get("name", "")), properties


def _object(holder: Any, field: str) -> dict[str, Any]:
    """A field that ought to hold an object, whatever it and its holder are."""
    value = holder.get(field) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def _role(message: dict[str, Any]) -> str:
    return str(message.get("role", ""))


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""
