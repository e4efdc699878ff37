"""The runner of the lessons sees what it is to see: a planted notebook, in a pytest of its own."""

import os
import re
import shutil
import subprocess
import sys
from typing import Any, Final

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebook import ROOT

# Less than a cell may take: whoever waits a cell's time limit out is seen.
ENDS_WITHIN: Final = 50  # seconds
OPTIONS: Final = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=60"]


def out(kind: str, **content: Any) -> Any:
    return new_output(kind, **content)  # type: ignore[no-untyped-call]


# Each cell with what it is said to show.
CELLS: Final[list[tuple[str, list[Any]]]] = [
    ("print(1)", [out("stream", text="1\n")]),
    ("print(2)", [out("stream", text="3\n")]),
    (
        "display({'text/plain': 'x', 'text/html': '<b>y</b>'}, raw=True)",
        [out("display_data", data={"text/plain": "x", "text/html": "<b>x</b>"})],
    ),
    (
        "import sys; print('a warning', file=sys.stderr)",
        [out("stream", name="stderr", text="another\n")],
    ),
    ("import os; os.kill(os.getpid(), 9)", []),
    ("print(1)", [out("stream", text="1\n")]),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest said about the cells; raises TimeoutExpired if a dead kernel was waited for."""
    place = tmp_path_factory.mktemp("planted")
    shutil.copy(ROOT / "lessons/conftest.py", place)
    (place / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    notebook = new_notebook()  # type: ignore[no-untyped-call]
    for number, (source, outputs) in enumerate(CELLS, 1):
        cell = new_code_cell(source, outputs=outputs, execution_count=number)  # type: ignore[no-untyped-call]
        notebook.cells.append(cell)
    nbformat.write(notebook, place / "planted.ipynb")  # type: ignore[no-untyped-call]
    command = [sys.executable, "-m", "pytest", "-v", *OPTIONS, "-p", "no:cacheprovider"]
    # Of a kernel that is killed nobody takes the connection file away: it goes with `place`.
    done = subprocess.run(
        command,
        cwd=place,
        env=os.environ | {"TMPDIR": str(place)},
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN,
        check=False,
    )
    return done.stdout + done.stderr


def outcomes(report: str) -> list[str]:
    return re.findall(r"::Cell \d (PASSED|FAILED)", report)


def test_a_cell_that_shows_what_it_showed_passes(report: str) -> None:
    assert outcomes(report)[0] == "PASSED"


def test_another_text_or_another_html_fails(report: str) -> None:
    assert outcomes(report)[1:3] == ["FAILED", "FAILED"]


def test_stderr_is_not_compared(report: str) -> None:
    assert outcomes(report)[3] == "PASSED"


def test_a_dead_kernel_fails_its_cell_and_the_rest_at_once(report: str) -> None:
    assert outcomes(report)[4:] == ["FAILED", "FAILED"]
    assert "The kernel died while the cell ran." in report
