"""Fetch pages, and say in a few sentences what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lab.model.goal import Goal, Move, Rule, Sight
from lab.model.prompt import REST, URL, Found
from lab.model.reply import Call
from lab.model.summary import how_many_sentences, summarise
from lab.model.transcript import Step

LOOK_SENTENCES: Final = 2  # of a page that nobody asked to summarise


@dataclass(frozen=True, kw_only=True)
class Fetch:
    """Pages to fetch, all in one turn. `sentences` is None when no summary was asked for."""

    urls: tuple[str, ...]
    sentences: int | None

    def move(self, sight: Sight) -> Move:
        pages = {url: _page(sight, url) for url in self.urls}
        missing = [url for url, page in pages.items() if page is None]
        if missing:
            return _fetch_first(missing, sight.tool("fetch"))
        told = [self._tell(url, page, sight) for url, page in pages.items() if page is not None]
        return Move(reason="I have read what I was asked to fetch.", told="\n\n".join(told))

    def _tell(self, url: str, step: Step, sight: Sight) -> str:
        # The address only where it tells pages apart: a lesson's differs from run to run.
        page = url if len(self.urls) > 1 else "the page"
        if step.failed:
            return f"I could not read {page}: {step.words}"
        text = summarise(step.result or "", self.sentences or LOOK_SENTENCES)
        sight.sentence = text
        if self.sentences is None:
            return sight.pick(f"This is how {page} begins: {text}", f"The start of {page}: {text}")
        return sight.pick(
            f"The summary of {page}: {text}",
            f"In short, {page} says: {text}",
            f"I have read {page}. Summarised: {text}",
        )


@dataclass(frozen=True, kw_only=True)
class Summarise:
    """Summarise `text`, or else the page or the answer that came last."""

    text: str
    sentences: int

    def move(self, sight: Sight) -> Move:
        before = sight.transcript
        source = self.text or (before.pages[-1] if before.pages else before.last_answer)
        if not source:
            return Move(
                reason="I was asked for a summary, but there is nothing here to summarise.",
                told="There is nothing in this conversation that I could summarise yet.",
            )
        sight.sentence = summarise(source, self.sentences)
        return Move(
            reason="What I am to summarise is in this conversation already.",
            told=sight.pick(f"In short: {sight.sentence}", f"Summarised: {sight.sentence}"),
        )


def _fetch_first(urls: list[str], tool: str | None) -> Move:
    if tool is None:
        return Move(
            reason="I was asked for a page, but none of the tools I am offered can fetch one.",
            told=f"I have no tool that fetches pages, so I cannot read {_all(urls)}.",
        )
    return Move(
        reason=f"I have not fetched {_all(urls)} for this yet, and have to before I can say anything"
        " about it.",
        calls=tuple(Call(tool, {"url": url}) for url in urls),
    )


def _page(sight: Sight, url: str) -> Step | None:
    return sight.claim("fetch", lambda arguments: arguments.get("url") == url)


def _all(urls: list[str]) -> str:
    return " and ".join(urls)


def _fetch(found: Found) -> Goal:
    wants_summary = "summar" in found.text.lower() or how_many_sentences(found.text) is not None
    return Fetch(
        urls=tuple(dict.fromkeys(found.urls)),
        sentences=(how_many_sentences(found.text) or 1) if wants_summary else None,
    )


def _summarise(found: Found) -> Goal:
    sentences = how_many_sentences(found.text) or 1
    return Summarise(text=(found.group("text") or "").strip('"“”'), sentences=sentences)


_ADDRESSES: Final = rf"{URL}+(?:[^\w{URL}]{{0,3}}(?:and\s+|the\s+|pages?\s+)*{URL}+)*"
_VERB: Final = r"\b(?:fetch|get|read|open|load|visit|download|summari[sz]e|look\s+at)\b"
_UP_TO_ADDRESS: Final = r"(?:\s+(?!and\b|then\b)[\w'-]+){0,6}[\s:(]+[\"“'`<]?"
_AND_SUMMARISE: Final = (
    r"[\"”'`>)]*[\s,;]+(?:(?:and|then|,)\s+)*(?:summari[sz]e|sum\b|give|tell|describe|explain)"
    r"(?:\s+(?!and\b|then\b|save\b)[\w'-]+){0,10}"
)
_IN_SENTENCES: Final = r"\s+in\s+(?:just\s+|only\s+)?\w+\s+(?:short\s+)?sentences?\b"

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        rf"(?:{_VERB}{_UP_TO_ADDRESS})?{_ADDRESSES}(?:{_AND_SUMMARISE}|{_IN_SENTENCES})?",
        _fetch,
    ),
    Rule(
        rf"\b(?:summari[sz]e|sum\s+up)\b(?P<head>{REST}?)(?::\s*(?P<text>[^\x00]+)|$|(?=[.;!?\n\x00])|(?=,?\s+(?:and|then)\b))",
        _summarise,
    ),
)
