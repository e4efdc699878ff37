"""python tests/lessons/record.py lessons/09_*.ipynb: run lessons and write down what they show.

For authors. Each notebook is run from a fresh kernel and rewritten whole: outputs and counts, in
the form that the tests compare with. One that fails is left as it was.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

WIDGET: Final = "application/vnd.jupyter.widget-view+json"
CELL_TIMEOUT: Final = 60  # seconds
METADATA: Final = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# How a notebook says that the outputs of a cell are folded. JupyterLab adds the one key where it
# finds the other: with both, a lesson that was only opened is saved as it is.
FOLDED: Final = {"collapsed": True, "jupyter": {"outputs_hidden": True}}


def record(lesson: Path) -> float:
    """Run a lesson, write it, and give the seconds that running took."""
    notebook = nbformat.read(lesson, as_version=4)  # type: ignore[no-untyped-call]
    notebook.metadata = nbformat.from_dict(METADATA)  # type: ignore[no-untyped-call]
    started = time.perf_counter()
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=False,
        # How often a kernel flushes what a cell prints is a matter of time.
        coalesce_streams=True,
        resources={"metadata": {"path": str(lesson.parent)}},
    ).execute()
    seconds = time.perf_counter() - started
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            # A widget lives in its kernel and has another id each time. Its text stays.
            output.get("data", {}).pop(WIDGET, None)
    fold(notebook)
    # As lab.notebooks saves it: the same on every machine.
    notebook.metadata["language_info"].pop("version", None)
    nbformat.write(notebook, lesson)  # type: ignore[no-untyped-call]
    return seconds


def fold(notebook: Any) -> None:
    """Have each output open folded, so that no answer is read before its question is met.

    Running a cell unfolds it. All are folded, and none by what it says: whatever a learner sees is
    then their own.
    """
    for cell in notebook.cells:
        for key in FOLDED:
            cell.metadata.pop(key, None)
        if cell.get("outputs"):
            cell.metadata.update(nbformat.from_dict(FOLDED))  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lessons", nargs="+", type=Path)
    for path in parser.parse_args().lessons:
        print(f"{path}: {record(path):.1f} s")  # noqa: T201 - a command, and this is its answer
