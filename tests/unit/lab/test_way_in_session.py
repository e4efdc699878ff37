"""Whoever starts the lab a second time is led to the first; a browser opens only for a person."""

import socket
import stat
from contextlib import closing
from pathlib import Path

import pytest

from lab import start
from lab.browser import is_at_hand
from lab.environment import Environment
from lab.lockfile import hold
from lab.session import Session, read_session, write_session
from lab.start import command_line, main, tell_of_taken

SESSION = Session(pid=4711, model="scripted", pages={"Sophos": "http://127.0.0.1:5173"})


def test_a_session_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_session(tmp_path / "session.json", SESSION)
    assert read_session(tmp_path / "session.json") == SESSION


def test_a_session_is_for_this_user_alone(tmp_path: Path) -> None:
    write_session(tmp_path / "session.json", SESSION)
    assert stat.S_IMODE((tmp_path / "session.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_what_is_no_session_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "session.json").write_text(text)
    assert read_session(tmp_path / "session.json") is None


def test_a_second_start_finds_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environment = Environment(root=tmp_path)
    with hold(environment.session_lock):
        write_session(environment.state / "session.json", SESSION)
        assert main(["--no-browser"], environment) == 0
    told = capsys.readouterr().out
    assert "running already (pid 4711)" in told
    assert "http://127.0.0.1:5173" in told
    assert "as it was started" not in told


def test_what_a_second_start_asks_for_in_vain_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = Environment(root=tmp_path)
    wishes = ["--no-browser", "--port", "6000", "--tokens-per-second", "0"]
    with hold(environment.session_lock):
        write_session(environment.state / "session.json", SESSION)
        assert main(wishes, environment) == 0
    line = "as it was started: --port and --tokens-per-second would need a new start."
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    ("environ", "platform", "terminal", "expected"),
    [
        ({"DISPLAY": ":0"}, "linux", True, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True, True),
        ({}, "darwin", True, True),
        ({}, "linux", True, False),
        ({"DISPLAY": ":0"}, "linux", False, False),
        ({"DISPLAY": ":0", "CI": "true"}, "linux", True, False),
        ({"SSH_CONNECTION": "a b c d"}, "darwin", True, False),
    ],
)
def test_a_browser_opens_only_where_somebody_sits(
    *, environ: dict[str, str], platform: str, terminal: bool, expected: bool
) -> None:
    assert is_at_hand(environ, platform=platform, terminal=terminal) is expected


@pytest.mark.parametrize("pace", ["-3", "nan", "2000000", "fast"])
def test_a_pace_that_the_model_cannot_keep_is_refused_at_once(
    pace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command_line().parse_args(["--tokens-per-second", pace])
    assert f"{pace!r}: write a number from 0 to 1,000,000" in capsys.readouterr().err


def test_who_cannot_have_the_usual_port_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        number = taken.getsockname()[1]
        monkeypatch.setattr(start, "JUPYTER_PORT", number)
        monkeypatch.setattr(start, "whose", lambda _: "taken by another program")
        tell_of_taken(jupyter=True)
        line = f"port {number} is taken by another program. JupyterLab takes a free one instead."
        assert line in capsys.readouterr().out
        tell_of_taken(jupyter=False)
        assert "JupyterLab" not in capsys.readouterr().out
