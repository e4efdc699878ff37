"""What a lesson is to be like, as far as a stored notebook tells: one function per rule.

Each gives the faults it found, as sentences.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median
from typing import Final

from figures import figures
from notebook import FENCED, ROOT, Notebook
from record import FOLDED, WIDGET

CELLS: Final = range(25, 46)
MOST_WORDS: Final = 1100
MOST_SETUP_LINES: Final = 3
MEDIAN_LINES: Final = 5
MOST_LINES: Final = 25
WIDEST_LINE: Final = 80  # characters; a notebook with its side bar open shows no more
PROSE_TO_CODE: Final = (0.8, 1.2)  # cells
SECTIONS: Final = (
    *("The question", "Predict", "Run", "Check", "Now you"),
    *("Why it behaves so", "What this does not guarantee", "Key points"),
)
FORBIDDEN: Final = {
    r"\bsleep\(": "waits for time instead of a fact",
    r"\binput\(": "waits for a keyboard",
    r"\bclear_output\b": "clears its output",
    r"^\s*[!%]": "is not Python",
    r"\bsys\.stderr\b": "writes to stderr",
    r"api_key|API_KEY": "needs a key",
}
UNSTABLE: Final = {
    "an id": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "a port": r"(?:127\.0\.0\.1|localhost):\d+",
    "an address in memory": r"\b0x[0-9a-f]{6,}",
    "a time": r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d+\.\d+ m?s\b",
    "a path of this machine": r"(?:/home|/Users|/root|/tmp|/work)/",
}
FEWEST: Final = 3  # predictions, and checks
# Five minutes ask for less; a challenge is one long check.
_SHORTER: Final = {"00_kill_it.ipynb"}
_NO_FIGURE: Final = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\blessons? \d\d\b")  # names and links
_VERDICT: Final = re.compile(r"^[✓✗?] (holds|violated|unknown): ", re.MULTILINE)
# A file, and one of its tests where the next word in code is one.
_NAMED: Final = re.compile(
    r"`((?:sophos|lab|tests|docs|config|lessons)/[\w./-]+\.\w+)`(?:,\s`(test_\w+)`)?"
)

Faults = Iterator[str]
Rule = Callable[[Notebook], Faults]


def one_title_and_no_level_skipped(lesson: Notebook) -> Faults:
    levels = [level for level, _ in lesson.headings]
    if levels[:1] != [1] or levels.count(1) != 1:
        yield "one title, and it comes first"
    for (before, _), (level, text) in pairwise(lesson.headings):
        if level > before + 1:
            yield f"{text!r} skips a level"


def promise_minutes_and_needs_come_first(lesson: Notebook) -> Faults:
    first = lesson.cells[0]
    for word in ("**Takes**", "minutes", "**Needs**"):
        if first.cell_type != "markdown" or word not in first.source:
            yield f"the first cell does not say {word}"


def sections_are_there_in_order(lesson: Notebook) -> Faults:
    texts = [text for _, text in lesson.headings]
    if missing := [section for section in SECTIONS if section not in texts]:
        yield f"no section {', '.join(missing)}"
    elif sorted(SECTIONS, key=texts.index) != list(SECTIONS):
        yield "the sections are in another order"


def setup_is_short(lesson: Notebook) -> Faults:
    lines = lesson.code[0].source.splitlines()
    if lesson.cells[1] is not lesson.code[0] or len(lines) > MOST_SETUP_LINES:
        yield f"set-up is the second cell and has at most {MOST_SETUP_LINES} lines"


def size_is_right(lesson: Notebook) -> Faults:
    ratio = len(lesson.text) / len(lesson.code)
    if len(lesson.cells) not in CELLS:
        yield f"{len(lesson.cells)} cells"
    if not PROSE_TO_CODE[0] <= ratio <= PROSE_TO_CODE[1]:
        yield f"{ratio:.2f} cells of prose to one of code"
    if lesson.words > MOST_WORDS:
        yield f"{lesson.words} words"


def cells_are_short(lesson: Notebook) -> Faults:
    lines = [len(cell.source.splitlines()) for cell in lesson.code]
    if median(lines) > MEDIAN_LINES or max(lines) > MOST_LINES:
        yield f"lines of code cells: median {median(lines)}, longest {max(lines)}"
    for line in (line for cell in lesson.code for line in cell.source.splitlines()):
        if len(line) > WIDEST_LINE:
            yield f"a line of {len(line)} characters: {line}"


def prose_is_calm(lesson: Notebook) -> Faults:
    for line in lesson.prose.splitlines():
        if "!" in re.sub(r"`[^`]*`|<!--", "", line):
            yield f"an exclamation mark: {line}"


def cells_do_nothing_that_a_test_cannot_follow(lesson: Notebook) -> Faults:
    for cell in lesson.code:
        for pattern, what in FORBIDDEN.items():
            if re.search(pattern, cell.source, re.MULTILINE):
                yield f"cell {cell.id} {what}"


def outputs_are_committed_with_their_counts(lesson: Notebook) -> Faults:
    counts = [cell.execution_count for cell in lesson.code]
    if counts != list(range(1, len(counts) + 1)):
        yield f"counts are {counts}: record the lesson again (tests/lessons/record.py)"


def outputs_are_folded(lesson: Notebook) -> Faults:
    for cell in lesson.code:
        said = {key: cell.metadata[key] for key in FOLDED if key in cell.metadata}
        if said != (FOLDED if cell.outputs else {}):
            yield f"cell {cell.id}: {said}: record the lesson again (tests/lessons/record.py)"


def outputs_are_the_same_in_every_run(lesson: Notebook) -> Faults:
    for what, pattern in UNSTABLE.items():
        if found := re.search(pattern, lesson.shown):
            yield f"an output holds {what}: {found[0]}"
    if any(WIDGET in output.get("data", {}) for output in lesson.outputs):
        yield "an output holds a widget: record the lesson again"


def errors_are_meant(lesson: Notebook) -> Faults:
    for cell in lesson.code:
        kinds = {output.output_type for output in cell.outputs}
        streams = {output.get("name") for output in cell.outputs}
        if "stderr" in streams:
            yield f"cell {cell.id} writes to stderr"
        if "error" in kinds and "raises-exception" not in cell.metadata.get("tags", []):
            yield f"cell {cell.id} raises and is not tagged raises-exception"


def what_is_pointed_at_is_there(lesson: Notebook) -> Faults:
    pointers = _NAMED.findall(lesson.prose)
    if not any(name for _, name in pointers):
        yield "no test is pointed at"
    for file, name in pointers:
        path = ROOT / file
        if not path.is_file():
            yield f"there is no {file}"
        elif name and f"def {name}(" not in path.read_text(encoding="utf-8"):
            yield f"{file} has no {name}"


def each_prediction_is_asked_first_and_answered_by_what_was_seen(lesson: Notebook) -> Faults:
    calls = list(_calls(lesson))
    asked = [first for name, first in calls if name == "predict"]
    if not asked:
        yield "nothing is predicted"
    for name in asked:
        if calls.index(("predict", name)) > next(
            (n for n, call in enumerate(calls) if call == ("observed", name)), -1
        ):
            yield f"what was predicted as {name} is not shown later"


def enough_is_predicted_checked_and_drawn(lesson: Notebook) -> Faults:
    asked = {first for name, first in _calls(lesson) if name == "predict"}
    # An exercise that waits for its answer is no check yet.
    verdicts = [found for found in _VERDICT.findall(lesson.text_shown) if found != "unknown"]
    fewest = FEWEST - (lesson.name in _SHORTER)
    if len(asked) < fewest:
        yield f"{len(asked)} predictions"
    if len(verdicts) < FEWEST or "violated" not in verdicts:
        yield f"verdicts that are shown: {', '.join(verdicts)}; one of three has to be violated"
    if not any("lab.views" in cell.source for cell in lesson.code):
        yield "no view is used"


def figures_in_the_prose_are_shown_by_a_cell(lesson: Notebook) -> Faults:
    cells = lesson.text_shown + "\n".join(cell.source for cell in lesson.code)
    there = set(figures(cells))
    # The first cell says how long the lesson takes.
    for cell in lesson.text[1:]:
        for figure in figures(_NO_FIGURE.sub("", FENCED.sub("", cell.source))):
            if figure not in there:
                yield f"no cell shows the {figure} of: {cell.source[:60]}"


def one_exercise_has_a_solution_and_a_wrong_answer(lesson: Notebook) -> Faults:
    answers, verdicts = lesson.tagged("answer"), lesson.tagged("verdict")
    if not len(answers) == len(verdicts) == len(lesson.solutions()) == 1:
        yield "one cell is tagged answer, one verdict, and one solution is folded away"
    elif "wrong" not in lesson.code[answers[0]].metadata:
        yield "the answer's cell has no wrong answer in its metadata"


def _calls(lesson: Notebook) -> Iterator[tuple[str, str]]:
    """Each call by name with a text as its first argument."""
    for cell in lesson.code:
        for node in ast.walk(ast.parse(cell.source)):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(first)), *_]):
                    yield name, first
                case _:
                    pass


RULES: Final[tuple[Rule, ...]] = (
    one_title_and_no_level_skipped,
    promise_minutes_and_needs_come_first,
    sections_are_there_in_order,
    setup_is_short,
    size_is_right,
    cells_are_short,
    prose_is_calm,
    cells_do_nothing_that_a_test_cannot_follow,
    outputs_are_committed_with_their_counts,
    outputs_are_folded,
    outputs_are_the_same_in_every_run,
    errors_are_meant,
    what_is_pointed_at_is_there,
    each_prediction_is_asked_first_and_answered_by_what_was_seen,
    enough_is_predicted_checked_and_drawn,
    figures_in_the_prose_are_shown_by_a_cell,
    one_exercise_has_a_solution_and_a_wrong_answer,
)
