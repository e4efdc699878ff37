"""The facilitator's guide, lessons/FACILITATOR.md, knows every lesson and every prediction in it."""

import re
from pathlib import Path
from typing import Final

import pytest
from notebook import LESSONS, ROOT, Notebook

GUIDE: Final = (ROOT / "lessons/FACILITATOR.md").read_text(encoding="utf-8")
SECTIONS: Final = dict(re.findall(r"^### (.+)\n((?:(?!^### ).*\n?)*)", GUIDE, re.MULTILINE))
TABLE: Final = "| prediction | what a miss reveals | what to say |\n"
ASKED: Final = re.compile(r"predict\w*\(\s*\"(\d\d-\w)\"")


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_each_prediction_has_what_it_reveals_and_what_to_say(path: Path) -> None:
    lesson = Notebook.read(path)
    section = SECTIONS[f"{path.name[:2]} {lesson.headings[0][1]}"]
    asked = set(ASKED.findall("\n".join(cell.source for cell in lesson.code)))
    assert asked
    assert asked <= set(re.findall(r"\b\d\d-\w\b", section))


def test_no_section_is_about_a_lesson_that_is_not_there() -> None:
    there = {f"{path.name[:2]} {Notebook.read(path).headings[0][1]}" for path in LESSONS}
    assert set(SECTIONS) == there


def test_each_section_has_the_same_parts() -> None:
    for name, section in SECTIONS.items():
        first, *parts = section.strip().split("\n\n")
        assert re.match(r"Teach \d+, do \d+, discuss \d+\.", first), name
        assert [part for part in parts if part.startswith(TABLE)], name
        named = [part for part in parts if not part.startswith(TABLE)]
        assert all(part.startswith("**") for part in named), name
        assert {"Discuss", "Slow machine"} <= set(
            re.findall(r"^\*\*(.+?)\*\*", section, re.MULTILINE)
        )
