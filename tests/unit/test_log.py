"""A log line: one sentence, its fields, and never a second line."""

from __future__ import annotations

import logging

from sophos.log import Lines


def line(**fields: object) -> str:
    record = logging.LogRecord("sophos.web", logging.INFO, "f", 1, "Serving.", None, None)
    vars(record).update(fields)
    return Lines().format(record)


def test_fields_follow_the_sentence() -> None:
    told = line(url="http://127.0.0.1:5173", pid=4711)
    assert told.endswith(" INFO sophos.web Serving. url=http://127.0.0.1:5173 pid=4711")
    assert told[10] == "T"
    assert told[23] == "Z"


def test_no_value_can_look_like_a_line_of_its_own() -> None:
    told = line(check="bad\n2026-01-01T00:00:00.000Z INFO sophos Forged.")
    assert "\n" not in told
    assert told.endswith('check="bad\\n2026-01-01T00:00:00.000Z INFO sophos Forged."')
