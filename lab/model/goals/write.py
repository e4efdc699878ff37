"""Write a text of so many words, or count: replies whose length is known beforehand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lab.model.essay import essay
from lab.model.goal import Goal, Move, Rule, Sight
from lab.model.prompt import REST, Found
from lab.model.summary import summarise

USUAL_WORDS: Final = 200
MOST_WORDS: Final = 50_000
USUAL_TOPIC: Final = "an agent"
TOPIC: Final = re.compile(
    r"(?:\b(?:about|on|of)|^(?:explain|describe)(?:\s+to\s+me)?)\s+(?!\d)(?P<topic>.+)",
    re.IGNORECASE,
)
LENGTH: Final = re.compile(r"\b(\d[\d,]*)[\s-]*words?\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Write:
    topic: str
    words: int

    def move(self, sight: Sight) -> Move:
        text = essay(self.topic, self.words, sample=sight.sample)
        # What may become an argument of a call is the same for every sample.
        sight.sentence = summarise(essay(self.topic, self.words, sample=0))
        return Move(
            reason=f"I am asked for {self.words} words about {self.topic}. I go from what it looks"
            " like, over what can go wrong, to what remains.",
            told=text,
        )


@dataclass(frozen=True, kw_only=True)
class Count:
    first: int
    last: int

    def move(self, sight: Sight) -> Move:
        del sight  # counting needs nothing from the conversation
        numbers = range(self.first, self.last + 1)
        return Move(
            reason=f"I count from {self.first} to {self.last}, one number at a time.",
            told=" ".join(str(number) for number in numbers),
        )


def _write(found: Found) -> Goal | None:
    if re.search(r"\bsummary\b", found.text, re.IGNORECASE):
        return None
    length = LENGTH.search(found.text)
    if length is None and found.group("kind") is None:
        return None
    rest = re.sub(
        r",?\s*\b(?:in|with|of|using)\s+(?:about|exactly|around|roughly|at\s+least)?\s*\d[\d,]*[\s-]*words?\b",
        "",
        found.text,
        flags=re.IGNORECASE,
    )
    topic = TOPIC.search(rest)
    words = int(length[1].replace(",", "")) if length is not None else USUAL_WORDS
    return Write(
        topic=topic["topic"].strip(" \"“”'`") if topic is not None else USUAL_TOPIC,
        words=min(max(words, 1), MOST_WORDS),
    )


def _count(found: Found) -> Goal | None:
    first, last = int(found.group("first") or 1), int(found.group("last") or 1)
    return Count(first=first, last=last) if 0 <= last - first < MOST_WORDS else None


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        r"\b(?:write|compose|draft|tell|give|explain|describe)\b"
        rf"{REST}?\b(?:(?P<kind>essay|story|article|report|poem|paragraph)|words?)\b{REST}",
        _write,
    ),
    Rule(r"\bcount\s+(?:from\s+(?P<first>\d{1,6})\s+)?(?:up\s+)?to\s+(?P<last>\d{1,6})\b", _count),
)
