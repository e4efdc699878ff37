"""What needs no tool: repeat, do a sum, keep up with what a person says, and say what this is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lab.model.goal import Goal, Move, Rule, Sight
from lab.model.prompt import REST, Found
from lab.model.sums import work_out

WHAT_THIS_IS: Final = (
    "I am the lab's scripted model: a stand-in with fixed patterns, not a language model."
)
# What it can do, and the tool that must be offered for it.
ABILITIES: Final = (
    ("fetch", "fetch a page and summarise it: Fetch http://… and summarise it in one sentence."),
    (
        "create_entities",
        'save to the knowledge graph: Save that sentence as an observation on an entity named "…".',
    ),
    ("create_entities", "remember: Remember that my favourite colour is green."),
    (
        "search_nodes",
        "look up: What is my favourite colour? What do you know about …? Read the graph.",
    ),
    ("delete_entities", 'forget: Delete the entity "…".'),
    (
        "create_task",
        'keep tasks: Create a task "…". List the tasks. Run a slow task of 5 seconds.',
    ),
    ("", "write: Write an essay of 300 words about …. Count to 100."),
    ("", "do small sums: What is 17 * 23?"),
    ("", "repeat: Say …. What did I just say?"),
    ("", "call any tool I am offered by its name: Call memory__read_graph 3 times."),
)


@dataclass(frozen=True)
class Tell:
    """An answer that is known as soon as the question is read, in two phrasings."""

    reason: str
    told: str
    or_told: str

    def move(self, sight: Sight) -> Move:
        return Move(reason=self.reason, told=sight.pick(self.told, self.or_told))


@dataclass(frozen=True)
class SayAgain:
    def move(self, sight: Sight) -> Move:
        said = sight.transcript.last_answer
        return Move(
            reason="I am asked what I said before.",
            told="I have not said anything yet." if said is None else said,
        )


@dataclass(frozen=True)
class Help:
    def move(self, sight: Sight) -> Move:
        return Move(
            reason="I am asked what I am or what I can do.",
            told=f"{WHAT_THIS_IS} {_abilities(sight)}",
        )


@dataclass(frozen=True)
class NotUnderstood:
    def move(self, sight: Sight) -> Move:
        return Move(
            reason="None of my patterns fits what was said.",
            told=f"I do not understand that. {WHAT_THIS_IS} {_abilities(sight)}",
        )


def _abilities(sight: Sight) -> str:
    offered = ", ".join(sight.transcript.tools)
    tools = f"The tools I am offered: {offered}." if offered else "I am offered no tools."
    possible = [ability for tool, ability in ABILITIES if not tool or sight.tool(tool)]
    listed = "\n".join(f"- {ability}" for ability in possible)
    return f"I can:\n{listed}\n\n{tools}"


def _echo(found: Found) -> Goal | None:
    what = (found.group("what") or "").strip()
    if len(found.quoted) == 1 and what.strip("\"“”'`.!") == found.quoted[0]:
        what = found.quoted[0]
    if not what:
        return None
    return Tell("I am asked to say exactly that.", what, what)


def _sum(found: Found) -> Goal | None:
    asked = (found.group("sum") or "").strip()
    value = work_out(asked)
    if value is None or re.fullmatch(r"\d{4}-\d\d-\d\d", asked):
        return None
    return Tell(
        f"That is a sum: {asked}.", f"{asked} = {value}", f"The result of {asked} is {value}."
    )


def _name(found: Found) -> Goal | None:
    name = found.group("name")
    if name is None:
        return None
    return Tell(
        "A name is said. It is in the conversation now, and nowhere else.",
        f"Hello {name}. I know your name as long as this conversation is sent to me.",
        f"Nice to meet you, {name}. Your name is in this conversation now.",
    )


def _fact(found: Found) -> Goal | None:
    return Tell(
        "A fact is stated. It is in the conversation now, and nowhere else.",
        f"Understood: {found.text}. I know it as long as this conversation is sent to me.",
        f"Noted for this conversation: {found.text}.",
    )


# Each blank can be matched in one way only: two ways double the time with every number.
_NUMBER: Final = r"(?:\(\s*){0,5}-?\d[\d,]*(?:\.\d+)?(?:\s*\)){0,5}"
_SIGN: Final = (
    r"(?:\*\*|[-+*/×÷·^%]|\b(?:plus|minus|times|multiplied\s+by|divided\s+by|modulo|mod"
    r"|to\s+the\s+power\s+of)\b)"
)

WHOLE_LINE_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        r"^\s*(?:please\s+)?(?:say|repeat|echo|(?:reply|answer|respond)\s+with"
        r"(?=\s+(?:exactly|only|just|the\s+(?:words?|text))\b|\s*:|\s+[\"“'`]))\b"
        r"(?!\s+(?:that|it)(?:\s+again)?\W*$)"
        r"(?:\s+(?:exactly|only|just|after\s+me|the\s+words?|the\s+text|this))*\s*:?\s*(?P<what>[^\x00]+)",
        _echo,
    ),
)

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        r"\b(?:(?:say|repeat)\s+(?:that|it)(?:\s+again)?|what\s+did\s+you\s+(?:just\s+)?say)\b",
        lambda _: SayAgain(),
    ),
    Rule(
        rf"(?P<sum>{_NUMBER}(?:\s*{_SIGN}\s*{_NUMBER}){{1,40}})\s*(?==|\?|\.(?!\d)|!|;|$|\n|\x00)",
        _sum,
    ),
    Rule(r"\b(?:my\s+name\s+is|i\s+am\s+called|call\s+me)\s+(?P<name>[\w-]+)", _name),
    Rule(
        r"\b(?:who|what)\s+are\s+you\b[^\x00]*|\bwhat\s+can\s+you\s+do\b[^\x00]*|^\s*help\W*$"
        r"|\bare\s+you\s+(?:a|an|real|human)\b[^\x00]*",
        lambda _: Help(),
    ),
    Rule(rf"(?<!what is )(?<!what are )\bmy\s+[\w -]+?\s+(?:is|are|was)\s+{REST}", _fact),
    Rule(
        r"^\s*(?:hi|hello|hey|good\s+(?:morning|evening|afternoon|day))\b[^.!?\n\x00]*",
        lambda _: Tell(
            "That is a greeting.",
            f"Hello. {WHAT_THIS_IS} Ask me what I can do.",
            f"Good day. {WHAT_THIS_IS} Ask me what I can do.",
        ),
    ),
    Rule(
        r"\b(?:thank\s+you|thanks)\b",
        lambda _: Tell("That is thanks.", "You are welcome.", "Gladly."),
    ),
)
