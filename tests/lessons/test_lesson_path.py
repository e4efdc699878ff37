"""The path at a glance, lessons/README.md, says of each lesson what the lesson says of itself."""

import re
from typing import Final

from notebook import LESSONS, ROOT, Notebook

ROWS: Final = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "lessons/README.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| \d\d \|", line)
]
LINK: Final = re.compile(r"\[(?P<title>.+)\]\((?P<file>.+)\)")


def linked() -> dict[str, tuple[str, str, str]]:
    """Number, title and minutes of each lesson that is a link, by its file."""
    return {
        found["file"]: (row[0], found["title"], row[3])
        for row in ROWS
        if (found := LINK.fullmatch(row[1]))
    }


def test_every_lesson_and_no_other_is_a_link() -> None:
    assert sorted(linked()) == [path.name for path in LESSONS]


def test_lessons_are_numbered_in_order_and_say_what_is_asked_and_broken() -> None:
    assert [row[0] for row in ROWS] == [f"{number:02}" for number in range(len(ROWS))]
    assert all(row[2].endswith("?") and row[4] for row in ROWS)


def test_number_title_and_minutes_are_the_lesson_s_own() -> None:
    own = {}
    for path in LESSONS:
        lesson = Notebook.read(path)
        minutes = re.search(r"\*\*Takes\*\* (\d+) minutes", lesson.prose)
        assert minutes is not None
        own[path.name] = (path.name[:2], lesson.headings[0][1], minutes[1])
    said = {
        file: (number, title, re.split(r"\D", minutes)[0])
        for file, (number, title, minutes) in linked().items()
    }
    assert said == own
