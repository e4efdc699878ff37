"""The log: one line per event on standard error, a fixed sentence and its fields.

    2026-01-31T09:00:00.000Z INFO sophos.web.server Serving. url=http://127.0.0.1:5173 pid=4711

A field's value is written as JSON where it is more than one word, so that no value can look like
a line of its own.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from typing import Final

_WORD: Final = re.compile(r"[\w./:@%+-]+")
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "color_message",
}


class Lines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s")
        self.datefmt = "%Y-%m-%dT%H:%M:%S"
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        words = [f"{name}={_word(value)}" for name, value in fields.items()]
        return " ".join([super().formatMessage(record), *words])


def _word(value: object) -> str:
    text = str(value)
    return text if _WORD.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def log_to_stderr() -> None:
    """Ours from INFO on, everybody else's from WARNING on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("sophos").setLevel(logging.INFO)
