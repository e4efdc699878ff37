"""A run as it happens, with buttons: Stop asks it to end, Kill ends the server, Resume goes on.

A thread of its own reads the stream, so the cell ends at once and the kernel is free. It ends with
the stream: at the run's end, at a crash, with the bench. What it was shown is in the client like
everything else (`bench.tables.events(run)`); the widget holds a picture of it and nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any, Final

import ipywidgets as widgets

from lab.bench import Bench
from lab.client import ApiError
from lab.display import FAINT, MONOSPACE, lines
from lab.process import ProcessError
from lab.stream import StreamEvent, text

REFRESH: Final = 0.1  # seconds between two pictures, at least: a fast model has many tokens
TRACES: Final = 12  # lines of the trace that are shown


class Watch:
    """`widget` and its buttons; `join()` waits for the end of what is being watched."""

    def __init__(self, bench: Bench, run: str) -> None:
        runs = bench.tables.runs(raw=True)
        row = runs.loc[(runs["run"] == run) | (runs["id"] == run)].iloc[0]
        self._bench, self._run, self._conversation = bench, row["id"], row["conversation_id"]
        self.text = lines(
            f"Watching {row['run']}: its tokens and its trace as they come",
            "  Stop asks the run to end. Kill ends the server with SIGKILL. Resume starts the server",
            "  if it is down, and goes on in a new run.",
            "  What was shown is also in bench.tables.events(…).",
        )
        self._answer, self._trace = widgets.HTML(), widgets.HTML()
        self.status = widgets.HTML()
        self.stop = self._button("Stop", "stop", "Ask the run to end", self._stop)
        self.kill = self._button("Kill", "bolt", "End the server with SIGKILL", self._kill)
        self.resume = self._button("Resume", "play", "Go on in a new run", self._resume)
        bar = widgets.HBox([self.stop, self.kill, self.resume, self.status])
        bar.layout.align_items = "center"
        self.widget = widgets.VBox([bar, self._answer, self._trace])
        self._follow()

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return dict(self.widget._repr_mimebundle_() or {}) | {"text/plain": self.text}

    def join(self, seconds: float | None = None) -> None:
        """Wait until the stream that is being watched has ended."""
        self._thread.join(seconds)

    def _follow(self) -> None:
        self._say("running")
        # A daemon: whoever shuts the kernel down does not wait for a run.
        self._thread = threading.Thread(
            target=self._read, args=(self._run,), name="lab watch", daemon=True
        )
        self._thread.start()

    def _read(self, run: str) -> None:
        shown: list[StreamEvent] = []
        try:
            with (
                self._bench.client.stream(self._conversation, run) as stream,
                self._drawing(shown),
            ):
                shown.extend(stream)
                outcome = stream.outcome or "the connection is lost; the record has what was saved"
        except (ApiError, ProcessError) as error:
            outcome = str(error)
        self._draw(shown)
        self._say(outcome)

    @contextmanager
    def _drawing(self, shown: Sequence[StreamEvent]) -> Iterator[None]:
        """Draw what comes meanwhile, also the last of it before a long silence."""
        over = threading.Event()

        def draw() -> None:
            drawn = 0
            while not over.wait(REFRESH):
                if len(shown) > drawn:
                    drawn = len(shown)
                    self._draw(shown[:drawn])

        drawer = threading.Thread(target=draw, name="lab watch, drawing", daemon=True)
        drawer.start()
        try:
            yield
        finally:
            over.set()
            drawer.join()

    def _draw(self, shown: Sequence[StreamEvent]) -> None:
        told = text(shown)
        self._answer.value = (
            f'<div style="opacity:.75;white-space:pre-wrap;line-height:1.4"><em>{escape(told.reasoning)}'
            '</em></div><div style="white-space:pre-wrap;line-height:1.4;padding:.4em 0">'
            f"{escape(told.answer)}</div>"
        )
        traced = [
            f"step {event.data['step']}  {event.data['event']:<7} {event.data['name']}"
            for event in shown
            if event.name == "trace"
        ][-TRACES:]
        self._trace.value = (
            f'<pre style="font-family:{MONOSPACE};color:inherit;line-height:1.4;margin:0;'
            f'border-top:1px solid {FAINT}">{escape(lines(*traced))}</pre>'
        )

    def _stop(self) -> None:
        self._bench.client.cancel(self._run)

    def _kill(self) -> None:
        self._bench.sophos.kill()

    def _resume(self) -> None:
        if not self._bench.sophos.process.is_alive:
            self._say("the server starts")
            self._bench.sophos.start()
        self._run = self._bench.client.resume(self._conversation).run
        self._follow()

    def _button(
        self, name: str, icon: str, tooltip: str, act: Callable[[], None]
    ) -> widgets.Button:
        def clicked(_: widgets.Button) -> None:
            try:
                act()
            except (ApiError, ProcessError) as error:
                self._say(str(error))

        button = widgets.Button(description=name, icon=icon, tooltip=tooltip)
        button.on_click(clicked)
        return button

    def _say(self, words: str) -> None:
        self.status.value = f'<div role="status" style="line-height:1.4">{escape(words)}</div>'


def watch(bench: Bench, run: str) -> Watch:
    """Watch a run, from its start and on."""
    return Watch(bench, run)
