"""One prediction for each of many things, on one form. The record is that of lab/predict.py.

    predict_each("03-a", "What becomes of it?", things, options=["survives", "dies"])
    observed_each("03-a", {"your message": "survives", "your connection": "dies"})

Each thing is a prediction of its own, `03-a.01` and so on, so that `predictions("03")` lists them.
The form dies with the kernel; what was saved does not (lab/answers.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import ipywidgets as widgets

from lab.answers import Answers, AnswersUnusable
from lab.display import Display, lines
from lab.predict import NOT_ANSWERED

_THING: Final = {"width": "17em"}
_CHOICE: Final = {"button_width": "7em"}
_CELL: Final = "text-align:left;padding:.1em 1.5em .1em 0"


def predict_each(
    name: str,
    question: str,
    things: Sequence[str],
    options: Sequence[str],
    *,
    answers: Answers | None = None,
) -> ManyForm:
    """Ask the question of each thing before the reveal: one of `options` for each."""
    answers = answers or Answers()
    names = {thing: f"{name}.{number:02}" for number, thing in enumerate(things, 1)}
    for thing, own in names.items():
        answers.ask(own, f"{thing}: {question}")
    return ManyForm(name, question, names, options, answers)


def observed_each(name: str, seen: Mapping[str, str], *, answers: Answers | None = None) -> Display:
    """What was said of each thing beside what was seen. The order is that of `predict_each`."""
    answers = answers or Answers()
    rows = []
    for number, (thing, what) in enumerate(seen.items(), 1):
        own = f"{name}.{number:02}"
        answers.observe(own, what)
        known = answers.find(own)
        said = known.answer or NOT_ANSWERED
        rows.append((thing, said + (" (late)" if known.late else ""), what))
    title = f"Prediction {name}"
    head = ("", "you said", "you saw")
    wide = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    told = ("  ".join(cell.ljust(wide[at]) for at, cell in enumerate(row)) for row in (head, *rows))
    return Display(
        text=lines(title, *(f"  {line}" for line in told)), html=_table(title, head, rows)
    )


class ManyForm:
    """The things with a row of buttons each. What it prints is the questions, so it never changes."""

    def __init__(
        self,
        name: str,
        question: str,
        names: Mapping[str, str],
        options: Sequence[str],
        answers: Answers,
    ) -> None:
        self._names, self._answers = names, answers
        self.text = lines(
            f"Prediction {name}: {question}",
            "  " + " or ".join(options) + ", for each of:",
            *(f"  ○ {thing}" for thing in names),
        )
        self.choices = {
            thing: widgets.ToggleButtons(
                options=options, value=self._earlier(own, options), style=_CHOICE, tooltips=options
            )
            for thing, own in names.items()
        }
        heading = widgets.HTML(
            f"<div style='line-height:1.4'><strong>Prediction {escape(name)}.</strong>"
            f" {escape(question)}</div>"
        )
        self.save = widgets.Button(
            description="Save", icon="check", tooltip="Save these", button_style="primary"
        )
        self.status = widgets.HTML()
        self._tell()
        self.save.on_click(self._save)
        rows = [
            widgets.HBox([widgets.HTML(escape(thing), layout=_THING), choice])
            for thing, choice in self.choices.items()
        ]
        self.widget = widgets.VBox([heading, *rows, widgets.HBox([self.save, self.status])])

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return dict(self.widget._repr_mimebundle_() or {}) | {"text/plain": self.text}

    def _earlier(self, own: str, options: Sequence[str]) -> str | None:
        answer = self._answers.find(own).answer
        return answer if answer in options else None

    def _save(self, _: widgets.Button) -> None:
        try:
            for thing, choice in self.choices.items():
                known = self._answers.find(self._names[thing])
                if choice.value is not None and choice.value != known.answer:
                    self._answers.answer(self._names[thing], choice.value)
            self._tell()
        except AnswersUnusable as error:
            self._say(str(error))

    def _tell(self) -> None:
        known = [self._answers.find(own) for own in self._names.values()]
        saved = sum(each.answer is not None for each in known)
        late = " Some came after the outcome was shown." if any(each.late for each in known) else ""
        self._say(f"{saved} of {len(known)} are saved.{late}")

    def _say(self, sentence: str) -> None:
        self.status.value = f'<div role="status" style="line-height:1.4">{escape(sentence)}</div>'


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f'<th scope="col" style="{_CELL}">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row" style="{_CELL}">{escape(thing)}</th>'
        + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for thing, *cells in rows
    )
    caption = f"<caption style='text-align:left'>{escape(title)}</caption>"
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
