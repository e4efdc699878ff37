"""Every lesson keeps every rule, and every rule refuses a lesson that does not."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

import pytest
import rules
from notebook import LESSONS, Notebook
from record import WIDGET
from rules import RULES, Rule

Change = Callable[[Notebook], object]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_a_lesson_keeps_the_rule(path: Any, rule: Rule) -> None:
    assert list(rule(Notebook.read(path))) == []


def add_text(text: str) -> Change:
    return lambda lesson: lesson.text[-1].update(source=f"{lesson.text[-1].source}\n\n{text}")


def add_code(text: str) -> Change:
    return lambda lesson: lesson.code[-1].update(source=f"{lesson.code[-1].source}\n{text}")


def add_output(**output: Any) -> Change:
    kind = {"output_type": "stream", "name": "stdout", "text": ""}
    return lambda lesson: lesson.code[-1].outputs.append(type(lesson.code[-1])(kind | output))


PLANTED: Final[list[tuple[Rule, Change]]] = [
    (rules.one_title_and_no_level_skipped, add_text("# Another title")),
    (rules.one_title_and_no_level_skipped, add_text("#### A level skipped")),
    (rules.promise_minutes_and_needs_come_first, lambda lesson: lesson.cells.reverse()),
    (rules.sections_are_there_in_order, lambda lesson: lesson.text.reverse()),
    (rules.sections_are_there_in_order, lambda lesson: lesson.text.pop()),
    (rules.setup_is_short, lambda lesson: lesson.code[0].update(source="a\nb\nc\nd")),
    (rules.size_is_right, add_text("word " * 500)),
    (rules.size_is_right, lambda lesson: lesson.cells.extend(lesson.cells[:])),
    (rules.size_is_right, lambda lesson: lesson.text.extend(lesson.text[:])),
    (rules.cells_are_short, add_code("pass\n" * 26)),
    (rules.cells_are_short, add_code("#" * 81)),
    (rules.prose_is_calm, add_text("Look!")),
    (rules.cells_do_nothing_that_a_test_cannot_follow, add_code("time.sleep(1)")),
    (rules.cells_do_nothing_that_a_test_cannot_follow, add_code("!pip install x")),
    (
        rules.outputs_are_committed_with_their_counts,
        lambda lesson: lesson.code[3].update(execution_count=None),
    ),
    (rules.outputs_are_folded, lambda lesson: lesson.code[1].metadata.pop("collapsed")),
    (rules.outputs_are_folded, lambda lesson: lesson.code[1].metadata.pop("jupyter")),
    (rules.outputs_are_folded, lambda lesson: lesson.code[1].update(outputs=[])),
    (rules.outputs_are_the_same_in_every_run, add_output(text="http://127.0.0.1:4711")),
    (rules.outputs_are_the_same_in_every_run, add_output(text="took 1.5 s")),
    (rules.outputs_are_the_same_in_every_run, add_output(data={WIDGET: {}})),
    (rules.errors_are_meant, add_output(name="stderr")),
    (rules.errors_are_meant, add_output(output_type="error")),
    (rules.what_is_pointed_at_is_there, add_text("See `lab/nowhere.py`.")),
    (rules.what_is_pointed_at_is_there, add_text("See `lab/walk.py`, `test_nothing`.")),
    (
        rules.each_prediction_is_asked_first_and_answered_by_what_was_seen,
        add_code('predict("09-z", "?")'),
    ),
    (
        rules.enough_is_predicted_checked_and_drawn,
        lambda lesson: [cell.update(outputs=[]) for cell in lesson.code],
    ),
    (
        rules.enough_is_predicted_checked_and_drawn,
        lambda lesson: [cell.update(source="pass") for cell in lesson.code],
    ),
    (rules.figures_in_the_prose_are_shown_by_a_cell, add_text("All 4711 of them.")),
    (rules.figures_in_the_prose_are_shown_by_a_cell, add_text("It took thirteen tries.")),
    (
        rules.one_exercise_has_a_solution_and_a_wrong_answer,
        lambda lesson: lesson.code[lesson.tagged("answer")[0]].metadata.pop("wrong"),
    ),
    (
        rules.one_exercise_has_a_solution_and_a_wrong_answer,
        add_text("<details><summary>Solution</summary>\n\n```python\nx\n```"),
    ),
]


@pytest.mark.parametrize(
    ("rule", "change"), PLANTED, ids=lambda part: getattr(part, "__name__", "")
)
def test_a_rule_refuses_a_lesson_that_breaks_it(rule: Rule, change: Change) -> None:
    lesson = Notebook(deepcopy(Notebook.read(LESSONS[0]).cells))
    change(lesson)
    assert list(rule(lesson)) != []


def test_every_rule_was_seen_to_refuse() -> None:
    assert {rule for rule, _ in PLANTED} == set(RULES)
