"""What a viewer of one run was told, against what is on record of it and of what went on with it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from typing import Final

import pandas as pd
from langchain_core.messages import AIMessage

from lab.bench import Bench
from lab.display import BAD, GOOD, lines
from lab.stream import text as told_text
from lab.views.pieces import Fate, Piece, pieces, redone_from
from lab.views.view import View, plain, table

_WORDS: Final = re.compile(r"\s*\S+")
_SIGNS: Final = {"equal": "  both    ", "delete": "- stream  ", "insert": "+ record  "}


def stream_vs_record(bench: Bench, run: str) -> View:
    """`data`: one row for pieces that follow one another and had the same fate, with their count."""
    runs = bench.tables.runs(raw=True)
    row = runs.loc[(runs["run"] == run) | (runs["id"] == run)].iloc[0]
    thread = bench.tables.thread(row["conversation_id"])
    answers = [
        message
        for message in (thread.states[-1] if thread.states else ())
        if isinstance(message, AIMessage)
    ]
    shown = bench.client.shown(row["id"])
    same = runs.loc[(runs["conversation"] == row["conversation"]) & (runs.index > row.name)]
    later = [bench.client.shown(name) for name in same["id"]]
    found = pieces(
        shown, {str(message.id): str(message.text) for message in answers}, redone_from(later)
    )
    own = _continued(runs, row["run"])
    kept = "\n\n".join(
        str(message.text)
        for message in answers
        if message.additional_kwargs.get("run") in own and message.text
    )
    placed = bench.tables.placed
    told, kept = placed(told_text(shown).answer), placed(kept)
    frame = _frame(found)
    title = f"Stream against record of {row['run']}"
    counts = ", ".join(f"{fate}: {count}" for fate, count in _counts(found).items())
    return View(
        data=frame,
        text=lines(title, f"  pieces  {counts}", *_indented(plain(frame)), *_diff_text(told, kept)),
        html=f"<div>{table(frame, title)}<p>{escape(counts)}</p>{_diff_html(told, kept)}</div>",
    )


def _frame(found: list[Piece]) -> pd.DataFrame:
    rows = [
        {"step": step, "kind": kind, "fate": str(fate), "pieces": len(group)}
        | {"text": "".join(piece.text for piece in group)}
        for (step, kind, fate), group in (
            (key, list(group))
            for key, group in groupby(found, lambda piece: (piece.step, piece.kind, piece.fate))
        )
    ]
    return pd.DataFrame(rows, columns=["step", "kind", "fate", "pieces", "text"])


def _continued(runs: pd.DataFrame, run: str) -> set[str]:
    """The ids of a run and of those that went on with it: together they made one answer."""
    names = {run}
    for row in runs.to_dict("records"):
        names |= {row["run"]} if row["resume_of"] in names else set()
    return set(runs.loc[runs["run"].isin(names), "id"])


def _counts(found: list[Piece]) -> dict[Fate, int]:
    return {fate: sum(piece.fate is fate for piece in found) for fate in Fate}


def _changes(told: str, kept: str) -> list[tuple[str, str]]:
    """Runs of words that both have, that only the stream told, that only the record has."""
    old, new = _WORDS.findall(told), _WORDS.findall(kept)
    changes: list[tuple[str, str]] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            changes.append((tag, "".join(old[a:b])))
            continue
        changes += [("delete", "".join(old[a:b]))] if b > a else []
        changes += [("insert", "".join(new[c:d]))] if d > c else []
    return changes


def _diff_text(told: str, kept: str) -> list[str]:
    return [f"  {_SIGNS[tag]}{' '.join(words.split())}" for tag, words in _changes(told, kept)] or [
        "  no answer was told, and none is on record"
    ]


def _diff_html(told: str, kept: str) -> str:
    styles = {
        "equal": ("span", "", ""),
        "delete": ("del", f"color:{BAD}", "− "),
        "insert": ("ins", f"color:{GOOD}", "+ "),
    }
    parts = []
    for tag, words in _changes(told, kept):
        element, style, sign = styles[tag]
        parts.append(f'<{element} style="{style}">{sign}{escape(words.strip())}</{element}>')
    legend = "− only streamed, + only on record" if parts else "no answer on either side"
    return (
        f'<div style="white-space:pre-wrap">{" ".join(parts)}</div>'
        f'<div style="opacity:.75">{legend}</div>'
    )


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
