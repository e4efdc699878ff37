"""What the documents list is what the code has."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Final

import pytest

from sophos import errors
from sophos.errors import RunFailure, SophosError
from sophos.failpoints import Point
from sophos.protections import ROWS
from sophos.run import RunStatus
from sophos.settings import Settings
from sophos.web.app import create_app
from sophos.web.opened import Runtime

ROOT: Final = Path(__file__).parent.parent
REFERENCE: Final = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
MARKDOWN: Final = sorted(
    path for place in ("*.md", "docs/**/*.md", "lessons/*.md") for path in ROOT.glob(place)
)


def sentence_below(enum: type, member: str) -> str:
    """The string that stands below a member: what the member means."""
    [found] = ast.parse(inspect.getsource(enum)).body
    assert isinstance(found, ast.ClassDef)
    for node, following in zip(found.body, found.body[1:], strict=False):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == member:
            assert isinstance(following, ast.Expr)
            assert isinstance(following.value, ast.Constant)
            return str(following.value.value)
    raise AssertionError(f"{member} has no sentence")


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def rows_of(title: str) -> list[str]:
    section = REFERENCE.split(f"## {title}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("| ")][1:]


def default_text(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return "–" if default in (None, "", frozenset(), ()) else str(default)


def test_every_setting_is_documented_as_it_is() -> None:
    expected = []
    for setting in fields(Settings):
        if setting.metadata:
            text = default_text(setting.default)
            name = setting.metadata["variable"]
            expected.append(row(f"`{name}`", f"`{text}`", setting.metadata["meaning"]))
    assert rows_of("Settings") == expected


def test_every_protection_is_documented_as_it_is() -> None:
    expected = [
        row(f"`{name.value}`", text.prevents, text.absence_shows, f"`{text.module}`")
        for name, text in ROWS.items()
    ]
    assert rows_of("Protections") == expected
    assert all((ROOT / text.module).is_file() for text in ROWS.values())


def test_every_failpoint_is_documented_as_it_is() -> None:
    expected = [row(f"`{p.value}`", sentence_below(Point, p.name)) for p in Point]
    assert rows_of("Failpoints") == expected


def test_every_run_status_is_documented_as_it_is() -> None:
    expected = [row(f"`{s.value}`", sentence_below(RunStatus, s.name)) for s in RunStatus]
    assert rows_of("Run states") == expected


def test_every_code_is_documented_with_what_to_do() -> None:
    classes = [
        found
        for found in vars(errors).values()
        if isinstance(found, type) and issubclass(found, SophosError) and "code" in vars(found)
    ]
    expected = [
        row(f"`{found.code}`", inspect.cleandoc(found.__doc__ or ""))
        for found in classes
        if found not in (SophosError, RunFailure)
    ]
    assert rows_of("Codes") == expected


def test_every_route_is_documented_as_it_is() -> None:
    async def described() -> dict[str, dict[str, dict[str, str]]]:
        never: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
        paths: dict[str, dict[str, dict[str, str]]] = create_app(
            Settings(), "boot", never
        ).openapi()["paths"]
        return paths

    expected = [
        row(f"`{method.upper()} {path}`", operation["description"].splitlines()[0])
        for path, methods in asyncio.run(described()).items()
        for method, operation in methods.items()
    ]
    assert rows_of("Routes") == expected


@pytest.mark.parametrize("document", MARKDOWN, ids=lambda path: path.name)
def test_a_link_between_documents_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


@pytest.mark.parametrize("document", MARKDOWN, ids=lambda path: path.name)
def test_a_file_that_a_document_names_is_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:sophos|lab|tests|docs|config|lessons)/[\w./-]+\.\w+)`", text):
        assert (ROOT / name).exists(), f"{document.name} names {name}"


def test_decisions_are_numbered_without_holes() -> None:
    numbers = sorted(int(path.name[:4]) for path in (ROOT / "docs/decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("notebook", sorted(ROOT.glob("lessons/*.ipynb")), ids=lambda p: p.name)
def test_every_code_cell_of_a_lesson_has_a_count(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert all(cell["execution_count"] for cell in cells if cell["cell_type"] == "code")
