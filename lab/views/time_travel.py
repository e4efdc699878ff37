"""A slider over a thread's checkpoints: what the conversation was after each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import ipywidgets as widgets
import pandas as pd
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from lab.bench import Bench
from lab.display import FAINT, lines
from lab.views.view import View, plain, table

LONG: Final = 300  # characters of a message on the page; the record has all of them
SHORT: Final = 40  # characters of the newest message in the table
_ROLES: Final = {"human": "user", "ai": "assistant"}


@dataclass(frozen=True, kw_only=True, repr=False)
class TimeTravel(View):
    """The view, and the same as a slider: `widget`. Nothing is only in the widget."""

    states: Sequence[Sequence[str]]
    """The messages at each checkpoint, as lines."""
    widget: widgets.Widget

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        bundle = dict(self.widget._repr_mimebundle_() or {})
        return bundle | {"text/plain": self.text}


def time_travel(bench: Bench, conversation: str, *, raw: bool = False) -> TimeTravel:
    """`data`: one row a checkpoint, oldest first; with `raw=True` also bytes and ids."""
    frame = bench.tables.checkpoints(conversation, raw=raw)
    columns = ["step", "source", "next", "run", "messages"]
    frame = frame[[*columns, *(name for name in frame.columns if name not in columns and raw)]]
    sizes = [saved.bytes for saved in bench.tables.thread(conversation).checkpoints]
    states = [
        [bench.tables.placed(_told(message)) for message in state]
        for state in bench.tables.thread(conversation).states
    ]
    newest = [_cut(state[-1], SHORT) if state else "" for state in states]
    frame = frame.assign(newest=newest)
    text = lines("Checkpoints, oldest first", *(f"  {line}" for line in plain(frame).splitlines()))
    return TimeTravel(
        data=frame,
        text=text,
        html=table(frame, "Checkpoints, oldest first"),
        states=states,
        widget=_slider(frame, states, sizes),
    )


def _slider(
    frame: pd.DataFrame, states: Sequence[Sequence[str]], sizes: Sequence[int]
) -> widgets.Widget:
    if frame.empty:
        return widgets.HTML("There is no checkpoint yet.")
    steps = [
        (f"{row['step']} ({row['run']})", number)
        for number, row in enumerate(frame.to_dict("records"))
    ]
    slider = widgets.SelectionSlider(
        options=steps,
        value=len(steps) - 1,
        description="After step",
        continuous_update=True,
        layout={"width": "100%", "max_width": "40em"},
        style={"description_width": "6em"},
    )
    page = widgets.HTML()

    def show(_: object = None) -> None:
        number = int(slider.value)
        page.value = _page(frame.iloc[number].to_dict(), states[number], sizes[number])

    slider.observe(show, names="value")
    show()
    return widgets.VBox([slider, page])


def _page(row: Mapping[Any, Any], state: Sequence[str], size: int) -> str:
    facts = f"{row['run']} · {row['source']} · next: {row['next'] or 'nothing, it is finished'}"
    facts += f" · {len(state)} messages · {size:,} bytes in this checkpoint's row"
    listed = "".join(
        f'<li style="white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.4">'
        f"{escape(_cut(told, LONG))}</li>"
        for told in state
    )
    return (
        f'<div role="status" style="border-top:1px solid {FAINT};padding-top:.4em">'
        f"{escape(facts)}</div><ol>{listed or '<li>no message yet</li>'}</ol>"
    )


def _told(message: BaseMessage) -> str:
    """`role: text`, and which tools are asked for or answer."""
    role = _ROLES.get(message.type, message.type)
    if isinstance(message, ToolMessage):
        return f"tool {message.name} ({message.status}): {message.text}"
    calls = [call["name"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
    asks = f"asks for {', '.join(calls)}" if calls else ""
    return f"{role}: " + " ".join(part for part in (str(message.text), asks) if part)


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
