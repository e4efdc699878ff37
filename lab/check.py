"""A check gives a verdict of three values: the claim holds, is violated, or nobody can tell.

    check("one effect per call", faults=["call 2: twice (rows 1, 4)"], seen=effects)
    check("the stream told all", missing=["the end of the stream"])

Faults that were seen outweigh evidence that is missing, and a check that looked at nothing is
*unknown*. The checks that lessons share are in lab/promises.py. A verdict is a frozen value; its
twins are plain text and HTML, where a sign and a word say what the colour says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import Any, Final

from lab.display import BAD, GOOD, OPEN, lines

SHOWN: Final = 5  # faults that are listed; the others are counted


class Outcome(Enum):
    HOLDS = "holds"
    """The evidence was there, and nothing in it speaks against the claim."""
    VIOLATED = "violated"
    """Something speaks against the claim: it is named."""
    UNKNOWN = "unknown"
    """Evidence is missing: it is named. This is neither of the other two."""


_SIGNS: Final = {Outcome.HOLDS: "✓", Outcome.VIOLATED: "✗", Outcome.UNKNOWN: "?"}
_COLOURS: Final = {Outcome.HOLDS: GOOD, Outcome.VIOLATED: BAD, Outcome.UNKNOWN: OPEN}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    claim: str
    outcome: Outcome
    findings: tuple[str, ...] = ()
    """What was looked at; or each fault with its run, step or row; or what is missing."""

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HOLDS

    @property
    def text(self) -> str:
        return lines(
            f"{_SIGNS[self.outcome]} {self.outcome.value}: {self.claim}",
            *(f"    {finding}" for finding in self._listed()),
        )

    @property
    def html(self) -> str:
        colour = _COLOURS[self.outcome]
        listed = "".join(f"<div>{escape(finding)}</div>" for finding in self._listed())
        return (
            f'<div style="border-left:.25em solid {colour};padding:.2em .8em">'
            f'<strong><span aria-hidden="true" style="color:{colour}">{_SIGNS[self.outcome]}</span>'
            f" {self.outcome.value}</strong>: {escape(self.claim)}"
            f'<div style="padding-left:1.2em">{listed}</div></div>'
        )

    def __bool__(self) -> bool:
        raise TypeError("A verdict has three values. Ask for .holds, or read .outcome.")

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}

    def _listed(self) -> tuple[str, ...]:
        more = len(self.findings) - SHOWN
        rest = (f"and {more} more",) if more > 0 else ()
        return self.findings[:SHOWN] + rest


def counted(number: int, thing: str, things: str = "") -> str:
    """A number with its noun: 1 run, 2 runs; `things` where the plural is another one."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def check(
    claim: str,
    *,
    faults: Iterable[str] = (),
    seen: str | Sequence[Any] = "",
    missing: Iterable[str] = (),
) -> Verdict:
    """A verdict on a claim. `seen` is the evidence there was: a sentence, or what was looked at.

    Nothing seen and no fault is *unknown*: a check that looked at nothing cannot have failed.
    """
    if found := tuple(faults):
        return Verdict(claim=claim, outcome=Outcome.VIOLATED, findings=found)
    lacking = tuple(missing)
    if not lacking and not len(seen):
        lacking = ("there was nothing to look at",)
    if lacking:
        findings = tuple(f"missing: {what}" for what in lacking)
        return Verdict(claim=claim, outcome=Outcome.UNKNOWN, findings=findings)
    looked = seen if isinstance(seen, str) else f"looked at: {len(seen)}"
    return Verdict(claim=claim, outcome=Outcome.HOLDS, findings=(looked,))
