"""The lessons as the tests read them: cells, what they hold, and what they are to be called."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import nbformat

ROOT: Final = Path(__file__).resolve().parents[2]
LESSONS: Final = sorted((ROOT / "lessons").glob("*.ipynb"))
SOLUTION: Final = re.compile(
    r"<details><summary>Solution</summary>\s*```python\n(.*?)```", re.DOTALL
)
FENCED: Final = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_CODE: Final = re.compile(r"`[^`]+`")
_WORD: Final = re.compile(r"\w[\w'’.-]*")


class Notebook:
    """One lesson, as stored: nothing of it is run here."""

    def __init__(self, cells: list[Any], name: str = "") -> None:
        self.name = name
        self.cells = cells
        self.code = [cell for cell in cells if cell.cell_type == "code"]
        self.text = [cell for cell in cells if cell.cell_type == "markdown"]

    @classmethod
    def read(cls, path: Path) -> Notebook:
        cells = nbformat.read(path, as_version=4).cells  # type: ignore[no-untyped-call]
        return cls(cells, path.name)

    @property
    def prose(self) -> str:
        """All markdown without what is fenced: code and diagrams are not read as sentences."""
        return "\n\n".join(FENCED.sub("", cell.source) for cell in self.text)

    @property
    def words(self) -> int:
        """A name in code is one word, however long its path."""
        return len(_WORD.findall(_CODE.sub("name", self.prose)))

    @property
    def headings(self) -> list[tuple[int, str]]:
        """Level and text, in order."""
        found = re.findall(r"^(#+) (.+)$", self.prose, re.MULTILINE)
        return [(len(level), text.strip()) for level, text in found]

    @property
    def outputs(self) -> list[Any]:
        return [output for cell in self.code for output in cell.outputs]

    @property
    def shown(self) -> str:
        """Every text that the cells show, as text and as HTML."""
        texts = []
        for output in self.outputs:
            texts += [output.get("text", ""), *map(str, output.get("data", {}).values())]
        return "\n".join(texts)

    @property
    def text_shown(self) -> str:
        """What the cells show, as text alone."""
        return "\n".join(
            str(output.get("data", {}).get("text/plain") or output.get("text", ""))
            for output in self.outputs
        )

    def solutions(self) -> list[str]:
        return SOLUTION.findall("\n".join(cell.source for cell in self.text))

    def tagged(self, tag: str) -> list[int]:
        """Where, among the code cells, this tag stands."""
        return [n for n, cell in enumerate(self.code) if tag in cell.metadata.get("tags", [])]
