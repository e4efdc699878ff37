"""What the doctor sees when looking at one thing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a thing is."""

    GOOD = "ok"
    # Not as it could be, and nothing that the lab needs.
    NOTE = "note"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line: the thing, how it is, what was seen, and what to do unless it is good."""

    subject: str
    verdict: Verdict
    seen: str
    remedy: str = ""

    def __str__(self) -> str:
        """Words alone, in the order in which they are read out."""
        told = f"{self.verdict}: {self.subject}: {self.seen}."
        if self.verdict is Verdict.MISSING:
            return f"{told} To mend it: {self.remedy}."
        return f"{told} {self.remedy[0].upper()}{self.remedy[1:]}." if self.remedy else told


def good(subject: str, seen: str) -> Finding:
    return Finding(subject=subject, verdict=Verdict.GOOD, seen=seen)


def note(subject: str, seen: str, remedy: str) -> Finding:
    return Finding(subject=subject, verdict=Verdict.NOTE, seen=seen, remedy=remedy)


def missing(subject: str, seen: str, remedy: str) -> Finding:
    return Finding(subject=subject, verdict=Verdict.MISSING, seen=seen, remedy=remedy)
