"""A prediction is on record before the outcome, is never lost, and never changes what a cell prints."""

from pathlib import Path

import pytest

from lab.answers import PATH_VARIABLE, Answers, AnswersUnusable
from lab.predict import observed, predict, predictions

OPTIONS = ["one", "two"]


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    return Answers(tmp_path / "lab" / "predictions.db")


def test_a_question_is_on_record_as_not_answered_once_its_cell_has_run(answers: Answers) -> None:
    for _ in range(2):
        predict("06-c", "How many effects?", OPTIONS, answers=answers)
    rows = predictions(answers=answers).to_dict("records")
    assert [(row["prediction"], row["you_said"]) for row in rows] == [("06-c", "not answered")]


def test_saving_keeps_the_choice_with_its_reason(answers: Answers) -> None:
    form = predict("06-c", "How many effects?", OPTIONS, answers=answers)
    form.choice.value, form.reason.value = "two", "It runs again."
    form.save.click()
    assert "✓ Saved: two" in form.status.value
    known = answers.find("06-c")
    assert (known.answer, known.reason, known.late) == ("two", "It runs again.", False)


def test_running_the_cell_again_shows_the_answer_and_prints_the_same(answers: Answers) -> None:
    first = predict("06-c", "How many effects?", OPTIONS, answers=answers)
    first.choice.value = "two"
    first.save.click()
    again = predict("06-c", "How many effects?", OPTIONS, answers=answers)
    assert again.choice.value == "two"
    assert "✓ Saved: two" in again.status.value
    printed = [form._repr_mimebundle_()["text/plain"] for form in (first, again)]
    assert printed == ["Prediction 06-c: How many effects?\n  ○ one\n  ○ two"] * 2


def test_what_a_widget_shows_besides_its_view_is_plain_text_alone(answers: Answers) -> None:
    bundle = predict("06-c", "How many?", OPTIONS, answers=answers)._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "application/vnd.jupyter.widget-view+json"}


def test_saving_without_an_answer_saves_nothing_and_says_so(answers: Answers) -> None:
    form = predict("06-c", "How many?", OPTIONS, answers=answers)
    form.save.click()
    assert "Nothing is saved yet" in form.status.value
    assert answers.find("06-c").answer is None


def test_an_answer_in_free_words_is_kept(answers: Answers) -> None:
    form = predict("06-d", "What happens?", answers=answers)
    form.choice.value = "  nothing  "
    form.save.click()
    assert answers.find("06-d").answer == "nothing"


def test_an_answer_after_the_outcome_is_late_and_takes_no_earlier_ones_place(
    answers: Answers,
) -> None:
    answers.ask("06-c", "How many?")
    answers.answer("06-c", "two")
    observed("06-c", 1, answers=answers)
    form = predict("06-c", "How many?", OPTIONS, answers=answers)
    form.choice.value = "one"
    form.save.click()
    assert "late" in form.status.value
    assert answers.find("06-c").answer == "two"
    answers.ask("06-d", "And?")
    answers.observe("06-d", "1")
    assert answers.answer("06-d", "one").late


def test_the_prediction_stands_beside_what_was_seen(answers: Answers) -> None:
    answers.ask("06-c", "How many effects?")
    unanswered = observed("06-c", 2, answers=answers)
    assert repr(unanswered) == (
        "Prediction 06-c: How many effects?\n  you said  not answered\n  you saw   2"
    )
    assert "<td" in unanswered.html
    answers.ask("06-e", "And?")
    answers.answer("06-e", "<one>", "a & b")
    assert "&lt;one&gt;" in observed("06-e", "x", answers=answers).html
    assert "you said  not asked" in observed("06-z", "x", answers=answers).text


def test_the_review_is_of_a_lesson_or_of_all(answers: Answers) -> None:
    for name in ("06-c", "07-a"):
        answers.ask(name, "How many?")
    answers.answer("07-a", "two", "because")
    observed("07-a", 2, answers=answers)
    row = predictions("07", answers=answers).iloc[0]
    assert list(row) == ["07-a", "How many?", "two", "because", "2", "before"]
    assert len(predictions(answers=answers)) == 2


def test_the_environment_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(tmp_path / "mine.db"))
    predict("06-c", "How many?", OPTIONS)
    assert (tmp_path / "mine.db").exists()


def test_a_file_that_cannot_be_used_is_refused_with_a_remedy(tmp_path: Path) -> None:
    file = tmp_path / "predictions.db"
    file.write_text("This is no database, and it is long enough to be seen as none.")
    with pytest.raises(AnswersUnusable, match="set SOPHOS_LAB_PREDICTIONS to another path"):
        predict("06-c", "How many?", OPTIONS, answers=Answers(file))
    assert file.read_text().startswith("This is no database")
