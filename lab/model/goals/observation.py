"""How a person asks to save something: as an observation, on an entity, or just to remember it."""

from __future__ import annotations

import re
from typing import Final

from lab.model.goal import Goal, Rule
from lab.model.goals.save import Save
from lab.model.prompt import QUOTES, REST, Found

NOTES: Final = "notes"  # the entity of what belongs to no other
USER: Final = "user"
THAT: Final = re.compile(
    r"(?:(?:that|the|this|your)\s+)?(?:it|this|that|sentence|summary|result|answer|text)\b"
    r"(?!\s+(?:is|are|was|were|has|have))",
    re.IGNORECASE,
)


def _entity(text: str) -> str | None:
    name = r"(?:[\"“'`](?P<quoted>[^\"”'`]+)[\"”'`]|(?P<plain>[\w](?:[\w.\-]*\w)?))"
    found = re.search(rf"\b(?:entity|node)\s+(?:(?:named|called)\s+)?{name}", text, re.IGNORECASE)
    if found is None:
        found = re.search(
            rf"\b(?:on|to|about|for)\s+(?:the\s+|an?\s+)?{name}\s*[.:]?\s*$", text, re.IGNORECASE
        )
    return (found["quoted"] or found["plain"]) if found else None


def _entity_type(text: str, entity: str) -> str:
    found = re.search(r"\b(?:entity\s*type|of\s+type)\s*[:=]?\s*[\"“'`]?(\w+)", text, re.IGNORECASE)
    if found is not None:
        return found[1]
    return "website" if re.fullmatch(r"[\w-]+(?:\.[\w-]+)+", entity) else "topic"


def _observation(found: Found) -> Goal | None:
    entity = _entity(found.text)
    if entity is None:
        return None
    quoted = [text for text in found.quoted if text != entity]
    said = re.sub(
        r"\s+(?:as|to|in|into|with)\s+(?:an?|the|your)\b.*$", "", found.group("what") or ""
    )
    said = re.sub(r"^(?:the\s+fact\s+)?that\s+(?!sentence|summary|answer)", "", said.strip())
    content = quoted[0] if quoted else None
    if content is None and len(said.split()) > 1 and THAT.match(said) is None:
        content = _sentence(said)
    return Save(entity=entity, entity_type=_entity_type(found.text, entity), content=content)


def _remembered(found: Found) -> Goal | None:
    fact = QUOTES.sub(_unquoted, (found.group("fact") or "").strip(" ,:"))
    return _fact(fact) if len(fact.split()) > 1 else None


def _stored(found: Found) -> Goal:
    fact = QUOTES.sub(_unquoted, (found.group("more") or found.group("fact") or "").strip(" ,:"))
    if THAT.match(fact):
        return Save(entity=NOTES, entity_type="topic", content=None)
    return _fact(re.sub(r"^(?:the\s+fact\s+)?that\s+", "", fact))


def _fact(fact: str) -> Goal:
    if re.match(r"(?:my|i|i'm|we|our)\b", fact, re.IGNORECASE):
        return Save(entity=USER, entity_type="person", content=_about_user(fact))
    subject = re.match(
        r"(?:the\s+|an?\s+)?(.+?)\s+(?:is|are|was|were|has|have|will|can)\b", fact, re.IGNORECASE
    )
    entity = subject[1] if subject is not None and len(subject[1].split()) <= 4 else NOTES
    return Save(entity=entity, entity_type="topic", content=_sentence(fact))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _unquoted(found: re.Match[str]) -> str:
    return next(part for part in found.groups() if part is not None)


def _about_user(fact: str) -> str:
    """`my cat is old` → The user's cat is old."""
    swaps = (
        (r"^my\b", "The user's"),
        (r"^(?:i am|i'm)\b", "The user is"),
        (r"^i have\b", "The user has"),
    )
    for first, third in swaps:
        swapped = re.sub(first, third, fact, flags=re.IGNORECASE)
        if swapped != fact:
            return swapped + "."
    return f"The user says: {fact}."


OBSERVATION_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        rf"\b(?:save|store|add|record|write|put|note|create)\b(?P<what>{REST}?)\bobservations?\b{REST}",
        _observation,
    ),
    Rule(
        rf"\b(?:save|store|add|record|write|put|create)\b(?P<what>{REST}?)\b(?:entity|node)\b{REST}",
        _observation,
    ),
)

REMEMBER_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        rf"(?<!you )\b(?:remember|memori[sz]e|keep\s+in\s+mind|note|do\s+not\s+forget|don't\s+forget)"
        rf"(?:\s+that\b|\s+this:|:)?(?P<fact>\s+{REST})",
        _remembered,
    ),
    Rule(
        rf"\b(?:save|store|add|record|write|put)\b(?P<fact>{REST}?)\s+(?:in|into|to)\s+(?:your|the)\s+"
        rf"(?:(?:knowledge\s+)?graph|memory)\b(?:\s*:(?P<more>{REST}))?",
        _stored,
    ),
)
