"""The first sentences of a page, without its headings, links and lists."""

from __future__ import annotations

import re
from typing import Final

SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"”']?\s+(?=[A-Z\"“])")
READ_AT_MOST: Final = 20_000  # characters of a page
LINK: Final = re.compile(r"!?\[([^\]]{0,500})\]\([^)]{0,500}\)")
EMPHASIS: Final = re.compile(r"[*_`]{1,3}(\S.{0,500}?)[*_`]{1,3}")
NUMBERS: Final = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1
    )
}


def summarise(page: str, sentences: int = 1) -> str:
    """As many of the page's first sentences, on one line; its first words when it has none."""
    paragraphs = [" ".join(block) for block in _blocks(page)]
    prose = [text for text in paragraphs if re.search(r"[.!?][\"”')]?$", text)]
    found = [sentence for text in prose for sentence in SENTENCE_END.split(text)]
    return " ".join(found[:sentences]) or " ".join(paragraphs)[:200]


def how_many_sentences(text: str) -> int | None:
    """3 for `in three sentences`; None when the text does not say."""
    found = re.search(
        r"\bin\s+(?:just\s+|only\s+)?(\w+)\s+(?:short\s+)?sentences?\b", text, re.IGNORECASE
    )
    if found is None:
        return None
    word = found[1].lower()
    return int(word) if word.isdecimal() else NUMBERS.get(word, 1)


def _blocks(page: str) -> list[list[str]]:
    text = page[:READ_AT_MOST].partition("<error>")[0]
    if text.startswith("Contents of "):
        text = text.partition("\n")[2]
    blocks: list[list[str]] = [[]]
    for raw in text.splitlines():
        line = EMPHASIS.sub(r"\1", LINK.sub(r"\1", raw)).strip()
        if not line or re.match(r"#|[-=*_]{3,}$|[-*+]\s|\d+\.\s|\||>", line):
            blocks.append([])
        else:
            blocks[-1].append(line)
    return [block for block in blocks if block]
