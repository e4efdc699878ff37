"""The numbers that a text states, in digits or as a word."""

import re
from typing import Final

# "One" and "two" are said of too much to be figures.
_WORDS: Final = {
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirteen": 13,
    "fourteen": 14,
    "fifteen": 15,
    "sixteen": 16,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "hundred": 100,
}
_FIGURE: Final = re.compile(
    rf"(?<![\w.])(?:\d+(?:[.,]\d+)*|{'|'.join(_WORDS)})(?![\w])", re.IGNORECASE
)


def figures(text: str) -> list[str]:
    """Each in digits, in order."""
    return [str(_WORDS.get(found.lower(), found)) for found in _FIGURE.findall(text)]
