"""Write the prediction down, then look. It is never graded: writing it down is what helps.

    predict("06-c", "How many effects will there be?", options=["one", "two"])
    observed("06-c", len(effects))          what you said beside what you saw
    predictions("06")                       the same for a whole lesson, or for all, as a data frame

The question is on record as "not answered" when the cell has run, so a notebook that runs without
a reader goes on. The widget and the review are second views: what a cell prints is the same
whether or not there is an answer, except where the answer itself is what you asked to see. An
answer given after the outcome was shown is kept, and marked as late. The widget dies with the
kernel; what was saved does not (lab/answers.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, Final

import ipywidgets as widgets
import pandas as pd

from lab.answers import Answers, AnswersUnusable
from lab.display import Display, lines

NOT_ANSWERED: Final = "not answered"
NOT_ASKED: Final = "not asked: the cell with the question has not run"
_NARROW: Final = "width:1%;white-space:nowrap;text-align:left;padding:.1em 1.5em .1em 0"
_SIGN: Final = "○"
_SAVED: Final = "✓ Saved:"
_WIDE: Final = {"width": "100%", "max_width": "46em"}
# An option is as high as its words: the widget's own style gives each one line.
_STYLE: Final = """<style>
.lab-options .widget-radio-box { height: auto; max-height: none; width: 100%; }
.lab-options .widget-radio-box label {
  height: auto; max-height: none; line-height: 1.4; white-space: normal; margin-bottom: .3em;
  display: block; padding-left: 1.6em; position: relative;
}
.lab-options .widget-radio-box input { position: absolute; left: 0; top: .1em; margin: 0; }
</style>"""


def predict(
    name: str,
    question: str,
    options: Sequence[str] = (),
    *,
    answers: Answers | None = None,
) -> Form:
    """Ask before the reveal: one of `options`, or free text where there are none, and a reason."""
    answers = answers or Answers()
    answers.ask(name, question)
    return Form(name, question, tuple(options), answers)


def observed(name: str, seen: Any, *, answers: Answers | None = None) -> Display:
    """What was predicted beside what was seen. `seen` is a value or a sentence."""
    answers = answers or Answers()
    answers.observe(name, str(seen))
    known = answers.find(name)
    said = known.answer or (NOT_ANSWERED if known.question else NOT_ASKED)
    said += " (after the outcome was shown)" if known.late else ""
    rows = [("you said", said), *([("because", known.reason)] if known.reason else [])]
    rows.append(("you saw", str(seen)))
    title = f"Prediction {name}" + (f": {known.question}" if known.question else "")
    cells = "".join(
        f'<tr><th scope="row" style="{_NARROW}">{name}</th>'
        f'<td style="text-align:left;padding:.1em 0;white-space:pre-wrap">{escape(value)}</td></tr>'
        for name, value in rows
    )
    html = f"<table><caption style='text-align:left;white-space:normal'>{escape(title)}</caption>{cells}</table>"
    return Display(text=lines(title, *(f"  {name:<9} {value}" for name, value in rows)), html=html)


def predictions(lesson: str = "", *, answers: Answers | None = None) -> pd.DataFrame:
    """What you said against what you saw: of one lesson (`"06"`), or of the whole course."""
    rows = [
        {
            "prediction": known.name,
            "question": known.question,
            "you_said": known.answer or NOT_ANSWERED,
            "because": known.reason,
            "you_saw": "" if known.seen is None else known.seen,
            "when": "late" if known.late else "before" if known.answer else "",
        }
        for known in (answers or Answers()).all()
        if known.name.startswith(lesson)
    ]
    return pd.DataFrame(
        rows, columns=["prediction", "question", "you_said", "because", "you_saw", "when"]
    )


class Form:
    """The question as a widget. What it prints besides is the question alone, so it never changes."""

    def __init__(
        self,
        name: str,
        question: str,
        options: tuple[str, ...],
        answers: Answers,
    ) -> None:
        self._name, self._options, self._answers = name, options, answers
        self.text = lines(
            f"Prediction {name}: {question}", *(f"  {_SIGN} {option}" for option in options)
        )
        known = answers.find(name)
        heading = widgets.HTML(
            f'{_STYLE}<div style="line-height:1.4"><strong>Prediction {escape(name)}.</strong>'
            f" {escape(question)}</div>"
        )
        heading.layout = widgets.Layout(**_WIDE)
        self.choice = self._choice(known.answer)
        self.reason = widgets.Textarea(
            value=known.reason,
            description="Because:",
            placeholder="one sentence, for yourself",
            rows=2,
            layout=_WIDE,
            style={"description_width": "5.5em"},
        )
        self.save = widgets.Button(
            description="Save", icon="check", tooltip="Save this prediction", button_style="primary"
        )
        self.status = widgets.HTML()
        self._tell(known.answer or "", late=known.late)
        self.save.on_click(self._save)
        bar = widgets.HBox([self.save, self.status])
        bar.layout.align_items = "center"
        self.widget = widgets.VBox([heading, self.choice, self.reason, bar])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle = dict(self.widget._repr_mimebundle_() or {})
        return bundle | {"text/plain": self.text}

    def __repr__(self) -> str:
        return self.text

    def _choice(self, answer: str | None) -> widgets.ValueWidget:
        if not self._options:
            return widgets.Textarea(
                value=answer or "",
                description="I say:",
                rows=1,
                layout=_WIDE,
                style={"description_width": "5.5em"},
            )
        choice = widgets.RadioButtons(
            options=self._options,
            # An earlier answer; one that is no longer offered stays on record.
            value=answer if answer in self._options else None,
            description="I say:",
            layout=_WIDE,
            style={"description_width": "5.5em"},
        )
        choice.add_class("lab-options")
        return choice

    def _save(self, _: widgets.Button) -> None:
        answer = (self.choice.value or "").strip()
        if not answer:
            self._say("Nothing is saved yet: choose or write an answer first.")
            return
        try:
            known = self._answers.answer(self._name, answer, self.reason.value.strip())
        except AnswersUnusable as error:
            self._say(str(error))
            return
        self._tell(answer, late=known.late or known.answer != answer)

    def _tell(self, answer: str, *, late: bool) -> None:
        if not answer:
            self._say("Not answered yet.")
        elif late:
            self._say(f"{_SAVED} {answer} (late: the outcome was shown before)")
        else:
            self._say(f"{_SAVED} {answer}")

    def _say(self, sentence: str) -> None:
        self.status.value = f'<div role="status" style="line-height:1.4">{escape(sentence)}</div>'
