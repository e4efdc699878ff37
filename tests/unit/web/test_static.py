"""The page's files: small, of this house alone, and at home under any path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from sophos.web.pages import STATIC

MODULES: Final = sorted(STATIC.glob("*.js"))
INDEX: Final = (STATIC / "index.html").read_text(encoding="utf-8")
MOST_BYTES: Final = 100_000
MOST_LINES: Final = 250


def test_the_whole_page_is_light() -> None:
    assert sum(file.stat().st_size for file in STATIC.iterdir()) <= MOST_BYTES


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_module_has_one_idea_says_it_first_and_is_small(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert text.startswith("// ")
    assert len(text.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("file", [*MODULES, STATIC / "index.html"], ids=lambda path: path.name)
def test_no_address_leaves_the_folder_the_page_is_served_from(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert not re.findall(r"""["'`]/[\w#?]""", text), "a leading slash"
    assert not re.findall(r"(?:https?:)?//\w+\.", text), "another site"


def test_every_module_is_asked_for_at_once() -> None:
    asked = set(re.findall(r'href="static/([\w-]+\.js)"', INDEX)) | {"app.js"}
    assert asked == {module.name for module in MODULES}


def test_nothing_stands_in_the_page_that_its_policy_would_stop() -> None:
    assert not re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", INDEX)
