"""`lab matrix`: what is asked for, what is refused, and what its last line and its exit code say."""

from typing import Any

import pandas as pd
import pytest

from lab.crash import command
from lab.crash.command import main, told
from lab.crash.scenarios import SCENARIOS
from lab.crash.signs import MISSING
from lab.matrix import Stopped
from sophos.failpoints import Point
from sophos.protections import Protection

ROW: dict[str, Any] = {
    "scenario": "three tools",
    "protection_off": "none",
    "point": "run.recorded",
    "then": "resume",
    "status": "interrupted",
    "resumable": True,
    "messages_lost": 0,
    "messages_doubled": 0,
    "tools_repeated": 0,
    "effects_per_call": 1,
    "told_twice": 0,
    "calls_unanswered": 0,
    "resumes": 1,
    "outcome": "completed",
    "seconds": 1.0,
}
LOST = ROW | {"messages_lost": 1}


@pytest.mark.parametrize(
    ("rows", "as_promised", "code", "line"),
    [
        ([ROW], [], 0, "crashes: 1, broken promises: 0"),
        ([ROW, LOST], [], 1, "crashes: 2, broken promises: 1"),
        ([ROW, LOST | {"protection_off": "RECONCILE"}], [], 0, "crashes: 2, broken promises: 0"),
        ([ROW], ["yes"], 0, "crashes: 1, broken promises: 0, absences that did not show: 0"),
        ([ROW], [MISSING], 1, "crashes: 1, broken promises: 0, absences that did not show: 1"),
    ],
)
def test_the_last_line_counts_and_the_exit_code_tells_of_harm(
    capsys: pytest.CaptureFixture[str],
    rows: list[Any],
    as_promised: list[str],
    code: int,
    line: str,
) -> None:
    assert told(pd.DataFrame(rows), as_promised) == code
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == line
    assert ("Here a promise was broken:" in printed) == ("broken promises: 1" in line)


def test_help_names_every_scenario_point_and_protection(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert all(name in printed for name in [*SCENARIOS, *Point, *Protection])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--point", "tool.retuned"], "tool.retuned"),
        (["--point", "tool.returned#0"], "tool.returned#0"),
        (["--protection", "CALL_TASK"], "CALL_TASK"),
        (["--scenario", "four tools"], "four tools"),
        (["--protection", "CALL_TASK"], "WRITE_BARRIER"),
        (["--continue", "retry"], "retry"),
        (["--seed", "9-0"], "9-0"),
        (["--seed", "one"], "one"),
        (["--point", "cancel.recorded"], "never passes cancel.recorded"),
        (["--prot", "RECONCILE"], "--prot"),
    ],
)
def test_what_there_is_not_is_refused_before_anything_starts(
    capsys: pytest.CaptureFixture[str], arguments: list[str], named: str
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert named in capsys.readouterr().err


def test_who_stops_it_gets_the_rows_that_were_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_: object) -> pd.DataFrame:
        raise Stopped({1: LOST, 0: ROW})

    monkeypatch.setattr(command, "crashes", stopped)
    assert main(["--scenario", "plain answer"]) == 130
    printed = capsys.readouterr()
    assert "crashes: 2, broken promises: 1" in printed.out
    assert "stopped after 2 of 10 crashes" in printed.err
