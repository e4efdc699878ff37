"""Call a tool that the person names: `call memory__open_nodes with {"names": ["a"]} 3 times`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from lab.model.goal import Goal, Move, Rule, Sight
from lab.model.prompt import Found
from lab.model.reply import Call
from lab.model.transcript import Step

WITHOUT_END: Final = re.compile(
    r"\b(?:for\s?ever|without\s+end|endlessly|again\s+and\s+again|over\s+and\s+over|until\s+i\s+stop)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class NamedTool:
    """`times` calls, one after the other; None means without end."""

    tool: str
    arguments: dict[str, Any]
    times: int | None

    def move(self, sight: Sight) -> Move:
        if self.tool not in sight.transcript.tools:
            offered = ", ".join(sight.transcript.tools) or "none"
            return Move(
                reason="A tool is named that I am not offered.",
                told=f"I am offered no tool {self.tool}. The tools I have: {offered}.",
            )
        results: list[Step] = []
        while self.times is None or len(results) < self.times:
            step = sight.claim(self.tool, lambda arguments: arguments == self.arguments)
            if step is None:
                return Move(
                    reason=f"I am asked to call {self.tool}, and do so for the"
                    f" {len(results) + 1}. time.",
                    calls=(Call(self.tool, self.arguments),),
                )
            results.append(step)
        return Move(
            reason=f"I have called {self.tool} as often as I was asked to.",
            told=f"{self.tool} says: {results[-1].words}",
        )


def _named_tool(found: Found) -> Goal:
    rest = found.group("rest") or ""
    times = re.search(r"\b(\d+)\s+times\b", rest)
    without_end = WITHOUT_END.search(rest) is not None
    return NamedTool(
        tool=found.group("tool") or "",
        arguments=_arguments(rest),
        times=None if without_end else max(int(times[1]), 1) if times else 1,
    )


def _arguments(text: str) -> dict[str, Any]:
    """From `{"a": 1}` or from `a=1, b="two"`."""
    brace = text.find("{")
    if brace >= 0:
        try:
            value, _ = json.JSONDecoder().raw_decode(text[brace:])
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}
    pairs = re.findall(r"\b(\w+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s,]+)", text)
    return {name: _value(raw) for name, raw in pairs}


def _value(raw: str) -> Any:
    if raw[0] in "\"'":
        return raw[1:-1]
    try:
        return json.loads(raw.rstrip("."))
    except ValueError:
        return raw.rstrip(".")


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        r"\b(?:call|use|run|invoke)\s+(?:the\s+tool\s+)?`?(?P<tool>[a-z0-9-]\w*?__\w+)`?(?P<rest>[^\n]*)",
        _named_tool,
    ),
)
