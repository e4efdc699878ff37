"""One conversation's history from all who can tell it, put on one clock.

    processes' ends and starts   lab/life.py
    their freezes                the same
    runs, checkpoints            the database
    stream                       what the bench's client was shown
    effects                      the web site's ledger, and the task tracker's

A moment is something that happened at one time; an item lasts from one moment to another. Where a
thing is known to come after another, the order does not hang on clocks of different grain: a run
does not end before its last checkpoint.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from lab.life import Life
from lab.stream import StreamEvent


@dataclass(frozen=True, kw_only=True)
class RunSpan:
    """One row of runs. Times are seconds since the epoch; `ended` is None while it works."""

    name: str
    kind: str
    resume_of: str
    status: str
    owner: str
    began: float
    ended: float | None


@dataclass(frozen=True, kw_only=True)
class SavedStep:
    run: str
    step: int
    at: float


@dataclass(frozen=True, kw_only=True)
class Effect:
    what: str
    at: float
    row: str = "effects"
    """The row it is drawn in: one for each witness."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    at: float
    lane: str
    text: str
    crash: bool = False
    freeze: bool = False


@dataclass(frozen=True, kw_only=True)
class Item:
    """`start` and `end` are seconds since the epoch, both at moments except for an effect's."""

    lane: str
    row: str
    text: str
    start: float
    end: float
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class History:
    moments: Sequence[Moment]
    items: Sequence[Item]

    def place(self, at: float) -> float:
        """The number of a moment, from 0, or half way to the next for what lies between two."""
        times = [moment.at for moment in self.moments]
        place = bisect_right(times, at) - 1
        return place if place >= 0 and times[place] == at else place + 0.5


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def history(
    runs: Sequence[RunSpan],
    steps: Sequence[SavedStep],
    lives: Sequence[Life],
    shown: dict[str, Sequence[StreamEvent]],
    effects: Sequence[Effect],
) -> History:
    """The history of the conversation with these runs; empty if it has none."""
    if not runs:
        return History(moments=(), items=())
    first = runs[0].began
    owners = {life.label: life for life in lives}
    moments: list[Moment] = []
    items: list[Item] = []
    for run in runs:
        own = [step for step in steps if step.run == run.name]
        owner = owners.get(run.owner)
        end, cut = _end(run, own, owner)
        kind = f"{run.kind} of {run.resume_of}" if run.resume_of else run.kind
        moments.append(Moment(at=run.began, lane="run", text=f"{run.name} starts ({kind})"))
        moments += [
            Moment(at=step.at, lane="step", text=f"step {step.step} is saved") for step in own
        ]
        # After the steps: of moments at one time, the one that is named first came first.
        if end is not None and not cut:
            moments.append(Moment(at=end, lane="run", text=f"{run.name} is {run.status}"))
        text = f"{run.name}: {run.status}"
        until = end if end is not None else max([run.began, *(step.at for step in own)])
        items.append(Item(lane="run", row="runs", text=text, start=run.began, end=until, cut=cut))
        items += _steps(run, own, until, shown.get(run.name, ()))
    last = max(moment.at for moment in moments)
    for life in lives:
        if life.began > first:
            text = f"{life.label} starts"
            moments.append(Moment(at=life.began, lane="process", text=text))
        if life.ended is not None and first < life.ended and life.was_killed:
            text = f"{life.label} is {life.end}"
            moments.append(Moment(at=life.ended, lane="process", text=text, crash=True))
        elif life.ended is not None and first < life.ended <= last:
            text = f"{life.label} is {life.end}"
            moments.append(Moment(at=life.ended, lane="process", text=text))
    works = any(run.ended is None for run in runs)
    freezes = [
        _Freeze(life=life, began=began, ended=ended)
        for life in lives
        for began, ended in life.frozen
        # One of a later experiment is no part of a conversation that was over by then.
        if first < began and (works or began <= last)
    ]
    moments += [moment for freeze in freezes for moment in freeze.moments()]
    moments.sort(key=lambda moment: moment.at)
    last = moments[-1].at
    alive = [life for life in lives if life.ended is None or life.ended > first]
    items = [_life(life, first, last) for life in alive] + items
    items += [freeze.item(last) for freeze in freezes]
    items += [
        Item(lane="effect", row=effect.row, text=effect.what, start=effect.at, end=effect.at)
        for effect in effects
        if first <= effect.at <= last
    ]
    return History(moments=tuple(moments), items=tuple(items))


@dataclass(frozen=True, kw_only=True)
class _Freeze:
    """A span in which a process stood. It ends with a thaw, or with the process."""

    life: Life
    began: float
    ended: float | None

    def moments(self) -> list[Moment]:
        label, lane = self.life.label, "process"
        told = [Moment(at=self.began, lane=lane, text=f"{label} is frozen", freeze=True)]
        if self.ended is not None and self.ended != self.life.ended:
            told.append(Moment(at=self.ended, lane=lane, text=f"{label} is thawed"))
        return told

    def item(self, last: float) -> Item:
        end = last if self.ended is None else min(self.ended, last)
        cut = self.ended is not None and self.ended == self.life.ended
        text = f"{self.life.label}: frozen"
        return Item(lane="freeze", row="frozen", text=text, start=self.began, end=end, cut=cut)


def _end(run: RunSpan, own: Sequence[SavedStep], owner: Life | None) -> tuple[float | None, bool]:
    """When the run ended, and whether its process died under it: then, and not when it was told."""
    died = owner.ended if owner is not None else None
    if died is not None and (run.ended is None or died < run.ended):
        return died, True
    if run.ended is None:
        return None, False
    return max([run.ended, *(step.at for step in own)]), False


def _steps(
    run: RunSpan, own: Sequence[SavedStep], until: float, shown: Sequence[StreamEvent]
) -> list[Item]:
    """The run's steps and what was streamed of each: from the step before to its checkpoint."""
    told: dict[int, list[str]] = {}
    entered: list[int] = []
    for event in shown:
        if event.name == "token" and event.data["kind"] not in told.get(event.data["step"], []):
            told.setdefault(event.data["step"], []).append(event.data["kind"])
        if event.name == "trace" and event.data["event"] == "enter":
            entered.append(event.data["step"])
    spans: dict[int, tuple[float, float, bool]] = {}
    start = run.began
    for saved in own:
        spans[saved.step] = (start, saved.at, False)
        start = saved.at
    unsaved = [step for step in dict.fromkeys([*entered, *told]) if step not in spans]
    spans |= {step: (start, until, True) for step in unsaved[:1] if start < until}
    items = []
    for step, (begin, end, cut) in spans.items():
        text = f"step {step}" + (" not saved" if cut else "")
        items.append(Item(lane="step", row="steps", text=text, start=begin, end=end, cut=cut))
        if step in told:
            items.append(
                Item(
                    lane="stream",
                    row="stream",
                    text=f"step {step}: {' and '.join(told[step])}",
                    start=begin,
                    end=end,
                    cut=cut,
                )
            )
    return items


def _life(life: Life, first: float, last: float) -> Item:
    text = life.label + (f": {life.end}" if life.end and (life.ended or 0) <= last else "")
    end = last if life.ended is None else min(life.ended, last)
    start = max(life.began, first)
    return Item(lane="process", row=life.name, text=text, start=start, end=end, cut=life.was_killed)
