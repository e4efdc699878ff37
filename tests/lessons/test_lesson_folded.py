"""A recorded lesson in JupyterLab, in a real Chromium: an output is seen once its cell has run."""

import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from page import Stage, Tab, opened
from playwright.async_api import Locator, Response, expect
from record import METADATA, fold

from lab.children import Nursery
from lab.process import Process
from lab.workspace import make_workspace

FILE: Final = "lessons/00_planted.ipynb"
SAYS: Final = ("first", "second")
FOLD: Final = ".jp-OutputPlaceholder"
SHOWN: Final = ".jp-OutputArea-output"
KERNEL: Final = "#jp-bottom-panel"

Scenario = Callable[[Tab], Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A browser that opens one lesson in one JupyterLab."""

    browser: Stage
    jupyter: Process
    lesson: Path

    def opens(self, scenario: Scenario) -> None:
        async def played() -> None:
            site, _, rest = self.jupyter.ready["url"].partition("/lab")
            # In a workspace of its own: one that is restored takes the focus when it is done.
            path = f"lab/workspaces/{uuid4().hex}/tree/{FILE}?token={rest.rpartition('token=')[2]}"
            async with opened(self.browser.browser, site, path) as tab:
                await expect(tab.at(KERNEL)).to_contain_text("| Idle")
                await expect(cell(tab, 0)).to_be_focused()
                await scenario(tab)

        self.browser.run(played())


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("project")
    (folder / FILE).parent.mkdir()
    place = make_workspace("folded", folder / "lab")
    jupyter = Nursery(root=folder, place=place, environ=os.environ).jupyter(folder / "jupyter")
    jupyter.start()
    try:
        with Stage() as stage:
            yield Reader(browser=stage, jupyter=jupyter, lesson=folder / FILE)
    finally:
        jupyter.end()


@pytest.fixture
def reader(opening: Reader) -> Reader:
    """In front of a lesson whose cells say one word each, and are on record as saying it."""
    language = METADATA["language_info"] | {"version": "3.0.0"}
    notebook = new_notebook(metadata=METADATA | {"language_info": language})  # type: ignore[no-untyped-call]
    for count, word in enumerate(SAYS, 1):
        said = [new_output("stream", text=f"{word}\n")]  # type: ignore[no-untyped-call]
        source = f"print({word!r})"
        notebook.cells.append(
            new_code_cell(source, id=word, outputs=said, execution_count=count)  # type: ignore[no-untyped-call]
        )
    fold(notebook)
    nbformat.write(notebook, opening.lesson)  # type: ignore[no-untyped-call]
    return opening


def cell(tab: Tab, number: int) -> Locator:
    return tab.at(".jp-CodeCell").nth(number)


async def command(tab: Tab, label: str) -> None:
    """By the keyboard alone."""
    await tab.page.keyboard.press("Control+Shift+C")
    await expect(tab.at(".jp-ModalCommandPalette input")).to_be_focused()
    await tab.page.keyboard.type(label)
    await expect(tab.at(".lm-CommandPalette-item.lm-mod-active")).to_contain_text(label)
    await tab.page.keyboard.press("Enter")


def is_save(answer: Response) -> bool:
    return answer.request.method == "PUT" and answer.url.partition("?")[0].endswith(FILE)


def test_what_is_folded_tells_nothing_until_its_cell_has_run(reader: Reader) -> None:
    async def scenario(tab: Tab) -> None:
        await expect(tab.at(FOLD)).to_have_count(len(SAYS))
        await expect(tab.at(SHOWN)).to_have_count(0)
        assert [text.strip() for text in await tab.at(FOLD).all_inner_texts()] == ["", ""]
        await tab.page.keyboard.press("Control+Enter")
        await expect(cell(tab, 0).locator(SHOWN)).to_have_text("first\n")
        await expect(cell(tab, 1).locator(FOLD)).to_be_visible()
        await command(tab, "Run All Cells")
        await expect(tab.at(SHOWN)).to_have_text(["first\n", "second\n"])

    reader.opens(scenario)


def test_the_keyboard_unfolds_one_output_or_all(reader: Reader) -> None:
    async def scenario(tab: Tab) -> None:
        await command(tab, "Expand Selected Outputs")
        await expect(tab.at(SHOWN)).to_have_text(["first\n"])
        await command(tab, "Expand All Outputs")
        await expect(tab.at(SHOWN)).to_have_text(["first\n", "second\n"])

    reader.opens(scenario)


def test_a_lesson_that_was_only_opened_is_saved_as_it_is(reader: Reader) -> None:
    before = nbformat.read(reader.lesson, as_version=4)  # type: ignore[no-untyped-call]

    async def scenario(tab: Tab) -> None:
        async with tab.page.expect_response(is_save) as saved:
            await tab.page.keyboard.press("Control+S")
        assert (await saved.value).ok

    reader.opens(scenario)
    after = nbformat.read(reader.lesson, as_version=4)  # type: ignore[no-untyped-call]
    assert after.cells == before.cells
    # Whose Python it was opened with is in no lesson: it would differ on each machine.
    assert "version" not in after.metadata["language_info"]
