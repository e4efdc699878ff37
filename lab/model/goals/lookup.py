"""Answer from the knowledge graph, and from what a person said earlier in the conversation."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from lab.model.goal import Goal, Move, Rule, Sight
from lab.model.prompt import REST, Found
from lab.model.reply import Call
from lab.model.transcript import Step

NO_GRAPH: Final = "I have no tool that reads a knowledge graph."


@dataclass(frozen=True)
class ReadGraph:
    """Everything in the graph."""

    def move(self, sight: Sight) -> Move:
        read = sight.claim("read_graph")
        tool = sight.tool("read_graph")
        if read is not None:
            return Move(reason="I have read the graph.", told=_graph(read, about=None))
        if tool is None:
            return Move(reason="No tool that I am offered reads a graph.", told=NO_GRAPH)
        return Move(
            reason="The question is about the whole graph, so I read all of it.",
            calls=(Call(tool, {}),),
        )


@dataclass(frozen=True)
class Know:
    """What the graph holds about a topic."""

    topic: str

    def move(self, sight: Sight) -> Move:
        searched = _search(sight, self.topic)
        if isinstance(searched, Move):
            return searched
        return Move(
            reason="I have what the graph holds about it.", told=_graph(searched, about=self.topic)
        )


@dataclass(frozen=True)
class Recall:
    """Something of the person's own: from the conversation if it was said there, else the graph."""

    topic: str

    def move(self, sight: Sight) -> Move:
        said = _said(self.topic, sight)
        if said is not None:
            return Move(
                reason=f"The person said so in this conversation: {said}.",
                told=sight.pick(
                    f"Your {self.topic} is {said}: you said so in this conversation.",
                    f"You told me in this conversation: your {self.topic} is {said}.",
                ),
            )
        if sight.tool("search_nodes") is None:
            return Move(
                reason="Nobody said so in this conversation, and no tool lets me look it up.",
                told=f"Your {self.topic} was not said in this conversation. {NO_GRAPH}",
            )
        searched = _search(sight, self.topic)
        if isinstance(searched, Move):
            return searched
        return Move(
            reason="Nobody said so in this conversation, so the graph is what I have.",
            told=_graph(searched, about=f"your {self.topic}"),
        )


@dataclass(frozen=True)
class Quote:
    """What the person said, first or last."""

    first: bool

    def move(self, sight: Sight) -> Move:
        said = sight.transcript.user_said
        if not said:
            return Move(
                reason="This is the first message of the conversation.",
                told="This is the first thing you have said in this conversation.",
            )
        return Move(
            reason="What the person said is in the conversation I was sent.",
            told=f'You said: "{said[0] if self.first else said[-1]}"',
        )


def _search(sight: Sight, topic: str) -> Step | Move:
    """The search for this topic, or the move that makes it."""
    searched = sight.claim("search_nodes", lambda arguments: arguments.get("query") == topic)
    tool = sight.tool("search_nodes")
    if searched is not None:
        return searched
    if tool is None:
        return Move(reason="No tool that I am offered searches a graph.", told=NO_GRAPH)
    return Move(
        reason=f'That is not in this conversation. I search the knowledge graph for "{topic}".',
        calls=(Call(tool, {"query": topic}),),
    )


def _graph(step: Step, *, about: str | None) -> str:
    """A graph as a list, in the order in which the tool gave it."""
    graph = _read(step.result)
    if step.failed or graph is None:
        return f"I could not read the knowledge graph: {step.words}"
    entities = graph.get("entities") or []
    lines = [
        f"- {entity.get('name')} ({entity.get('entityType')}): "
        + " ".join(str(text) for text in entity.get("observations") or ["no observation"])
        for entity in entities
    ]
    lines += [
        f"- {relation.get('from')} {relation.get('relationType')} {relation.get('to')}"
        for relation in graph.get("relations") or []
    ]
    subject = f" about {about}" if about else ""
    if not lines:
        return f"The knowledge graph holds nothing{subject}."
    return f"The knowledge graph says{subject}:\n" + "\n".join(lines)


def _read(result: str | None) -> dict[str, Any] | None:
    try:
        graph = json.loads(result or "")
    except ValueError:
        return None
    return graph if isinstance(graph, dict) else None


def _said(topic: str, sight: Sight) -> str | None:
    """What the person said their `topic` is; what was said last counts."""
    pattern = rf"\bmy\s+{re.escape(topic)}\s+(?:is|are|was|=)\s+([^.;!?\n]+)"
    before = sight.transcript
    for text in reversed((*before.user_said, before.task)):
        found = re.findall(pattern, text, re.IGNORECASE)
        if found:
            return str(found[-1]).strip()
    return None


def _know(found: Found) -> Goal | None:
    topic = re.sub(
        r"^(?:the|an?)\s+", "", (found.group("topic") or "").strip(" \"“”'`"), flags=re.IGNORECASE
    )
    if not topic:
        return None
    return Know("user" if topic.lower() in ("me", "myself") else topic)


def _recall(found: Found) -> Goal | None:
    topic = (found.group("topic") or "").strip()
    return Recall(topic) if topic else None


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        r"\b(?:what|anything|everything|all)\b(?:\s+(?:do|does|did|can|is|that))*\s+(?:you|your\s+(?:knowledge\s+)?"
        rf"(?:graph|memory)|the\s+(?:knowledge\s+)?graph|it)\s+(?:know|remember|say|tell\s+me|have|hold)s?\s+(?:about|on)\s+(?P<topic>{REST})",
        _know,
    ),
    Rule(rf"\bknow\s+(?:anything|something)\s+about\s+(?P<topic>{REST})", _know),
    Rule(
        rf"\bsearch\b{REST}?\b(?:graph|memory)\b\s+for\s+(?P<topic>{REST})",
        _know,
    ),
    Rule(
        rf"\b(?:read|show|list|open|dump|print|look|what)\b{REST}?\b(?:knowledge\s+graph|graph|memory)\b",
        lambda _: ReadGraph(),
    ),
    Rule(r"\bwhat\s+do\s+you\s+(?:know|remember)\s*(?=[?.!]|$)", lambda _: ReadGraph()),
    Rule(
        rf"\b(?:what(?:'s|’s|\s+is|\s+are|\s+was)|tell\s+me|do\s+you\s+(?:know|remember))\s+my\s+(?P<topic>{REST})",
        _recall,
    ),
    Rule(r"\bwho\s+am\s+i\b", lambda _: Recall("name")),
    Rule(
        r"\bwhat\s+(?:did\s+i|was\s+the)\s+(?:first|very\s+first)\b[^.?!\n]*|\bwhat\s+did\s+i\s+(?:say|ask|tell\s+you|write)\s+first\b",
        lambda _: Quote(first=True),
    ),
    Rule(
        r"\bwhat\s+(?:did\s+i|was\s+my\s+last|have\s+i)\s*(?:just\s+)?(?:say|said|asked?|tell|told|write|written|message|question)[^.?!\n]*",
        lambda _: Quote(first=False),
    ),
)
