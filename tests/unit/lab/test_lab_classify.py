"""A prediction for each of many things is on record one by one, and prints the same every time."""

from pathlib import Path

import pytest

from lab.answers import Answers
from lab.classify import observed_each, predict_each
from lab.predict import predictions

THINGS = ["your message", "your connection"]
FATES = ["survives", "dies"]


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    return Answers(tmp_path / "predictions.db")


def test_each_thing_is_a_question_on_record(answers: Answers) -> None:
    predict_each("03-a", "What becomes of it?", THINGS, FATES, answers=answers)
    rows = predictions("03", answers=answers).to_dict("records")
    assert [row["prediction"] for row in rows] == ["03-a.01", "03-a.02"]
    assert rows[0]["question"] == "your message: What becomes of it?"


def test_saving_keeps_each_choice_and_leaves_the_rest_open(answers: Answers) -> None:
    form = predict_each("03-a", "?", THINGS, FATES, answers=answers)
    form.choices["your connection"].value = "dies"
    for _ in range(2):
        form.save.click()
    assert "1 of 2 are saved." in form.status.value
    assert [each.answer for each in answers.all()] == [None, "dies"]


def test_the_form_shows_what_was_saved_and_prints_the_same(answers: Answers) -> None:
    first = predict_each("03-a", "?", THINGS, FATES, answers=answers)
    first.choices["your message"].value = "survives"
    first.save.click()
    again = predict_each("03-a", "?", THINGS, FATES, answers=answers)
    assert again.choices["your message"].value == "survives"
    assert repr(first) == repr(again)
    assert repr(first).splitlines() == [
        "Prediction 03-a: ?",
        "  survives or dies, for each of:",
        "  ○ your message",
        "  ○ your connection",
    ]


def test_what_was_seen_stands_beside_what_was_said(answers: Answers) -> None:
    form = predict_each("03-a", "?", THINGS, FATES, answers=answers)
    form.choices["your message"].value = "dies"
    form.save.click()
    shown = observed_each("03-a", dict(zip(THINGS, FATES, strict=True)), answers=answers)
    assert repr(shown).splitlines()[2:] == [
        "  your message     dies          survives",
        "  your connection  not answered  dies",
    ]
    assert "<td" in shown.html


def test_an_answer_after_the_outcome_is_late(answers: Answers) -> None:
    form = predict_each("03-a", "?", THINGS, FATES, answers=answers)
    observed_each("03-a", {"your message": "survives"}, answers=answers)
    form.choices["your message"].value = "survives"
    form.save.click()
    assert "late" in repr(observed_each("03-a", {"your message": "survives"}, answers=answers))
    assert "after the outcome" in form.status.value
