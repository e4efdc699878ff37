"""What the documents list is what the code has."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import sqlite3
from contextlib import closing
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
SECURITY: Final = (ROOT / "docs/security.md").read_text(encoding="utf-8")
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


def promises() -> dict[str, list[tuple[str, str]]]:
    """Each promise of docs/security.md with the tests that show it, as file and function."""
    rows = [line.strip("| ").split(" | ") for line in SECURITY.splitlines() if line[:2] == "| "]
    return {promise: re.findall(r"`(\S+)::(\w+)`", tests) for promise, tests in rows[1:]}


def test_every_security_promise_of_the_readme_names_its_tests() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.split("## Security\n")[1].split("\n## ")[0]
    claims = [line.removeprefix("- ") for line in section.splitlines() if line.startswith("- ")]
    assert claims == list(promises())


@pytest.mark.parametrize("promise", promises())
def test_a_security_promise_is_shown_by_tests_that_are_there(promise: str) -> None:
    assert promises()[promise]
    for file, name in promises()[promise]:
        functions = ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        assert name in {f.name for f in functions if isinstance(f, ast.FunctionDef)}, name


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


DEPLOY: Final = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")


def fenced(language: str) -> list[str]:
    """The blocks of docs/deploy.md in one language."""
    return re.findall(rf"```{language}\n(.*?)```", DEPLOY, re.DOTALL)


def test_the_settings_for_a_class_are_ones_that_sophos_takes() -> None:
    lines = fenced("ini")[0].splitlines()
    settings = Settings.read(dict(line.split("=", 1) for line in lines))
    assert (settings.root_path, settings.allowed_hosts) == (
        "/sophos",
        frozenset({"class.example.org"}),
    )
    exported = re.findall(r"\b(SOPHOS_[A-Z_]+)=", DEPLOY)
    assert set(exported) <= {row.metadata["variable"] for row in fields(Settings) if row.metadata}


def test_the_backup_of_a_database_in_use_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("data/db", "data/memory"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "data/memory/memory.jsonl").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("data/db/sophos.db", isolation_level=None)) as server:
        server.execute("PRAGMA journal_mode = WAL")
        server.execute("CREATE TABLE runs (id)")
        server.execute("INSERT INTO runs VALUES ('kept')")
        exec(fenced("python")[0], {})  # the very lines of the document
    with closing(sqlite3.connect("backup/sophos.db")) as copy:
        assert copy.execute("SELECT id FROM runs").fetchall() == [("kept",)]
    assert (tmp_path / "backup/memory.jsonl").read_text(encoding="utf-8") == "{}"
