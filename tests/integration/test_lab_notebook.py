"""The lab's widgets in a real kernel without a reader: the notebook goes on, twice the same."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from lab.answers import PATH_VARIABLE, Answers

CELLS = (
    """
    from pathlib import Path
    from lab.bench import Bench
    from lab.model.script import say
    from lab.predict import observed, predict, predictions
    from lab.views.time_travel import time_travel
    from lab.views.watch import watch
    bench = Bench("kernel", root=Path(ROOT))
    bench.model.script([[say("It lives on.")]])
    """,
    'predict("00-a", "Does the answer survive?", options=["yes", "no"])',
    'started = bench.client.start("Go"); seen = watch(bench, started.run); seen',
    "seen.join(60)",
    "time_travel(bench, started.conversation)",
    'observed("00-a", "yes")',
    'predictions("00")',
    "bench.close()",
)


def run(root: Path) -> list[list[dict[str, Any]]]:
    """Each cell's outputs, as nbval compares them: without the widget's id."""
    sources = ["\n".join(line.strip() for line in cell.splitlines()) for cell in CELLS]
    sources[0] = sources[0].replace("ROOT", repr(str(root)))
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "id": f"cell-{n}"}
        | {"execution_count": None}
        for n, source in enumerate(sources)
    ]
    notebook = nbformat.from_dict(  # type: ignore[no-untyped-call] # nbformat types a part of itself
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    )
    NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
    return [
        [
            {kind: value for kind, value in output["data"].items() if "widget" not in kind}
            for output in cell["outputs"]
        ]
        for cell in notebook.cells
    ]


def test_a_notebook_that_nobody_answers_runs_and_prints_the_same_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "predictions.db"))
    first, second = run(tmp_path / "lab"), run(tmp_path / "lab")
    assert first == second
    assert first[1] == [
        {"text/plain": "Prediction 00-a: Does the answer survive?\n  ○ yes\n  ○ no"}
    ]
    assert "you said  not answered\n  you saw   yes" in first[5][0]["text/plain"]
    assert [known.answer for known in Answers(tmp_path / "predictions.db").all()] == [None]
