"""The process: how it starts, refuses to start, and stops. Real children, real signals."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

SCRIPTED: Final = [sys.executable, str(Path(__file__).parent / "scripted_process.py")]
SOPHOS: Final = [sys.executable, "-m", "sophos"]
Child = subprocess.Popen[str]


@contextmanager
def child(command: list[str], **settings: str) -> Iterator[Child]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.Popen(
        command,
        env={**kept, "PORT": "0", **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def line_with(process: Child, words: str) -> str:
    """The next line of the log that says this; the process says it or ends."""
    assert process.stderr is not None
    return next(line for line in process.stderr if words in line)


def serving(process: Child) -> str:
    """The URL, as soon as the process serves."""
    return line_with(process, " Serving. ").rpartition("url=")[2].strip()


def start_run(url: str) -> dict[str, Any]:
    answer = httpx.post(f"{url}/api/chat", json={"message": "hello"}, trust_env=False)
    started: dict[str, Any] = answer.json()
    return started


def test_the_ready_file_tells_the_address_and_goes_with_the_server(tmp_path: Path) -> None:
    ready = tmp_path / "deep" / "ready.json"
    ready.parent.mkdir()
    ready.write_text("of a process that was killed")
    with child(SCRIPTED, SOPHOS_READY_FILE=str(ready)) as process:
        url = serving(process)
        facts = json.loads(ready.read_text())
        health = httpx.get(f"{url}/api/healthz", trust_env=False).json()
        assert facts == {**facts, "pid": process.pid, "url": url}
        assert (health["pid"], health["boot_id"]) == (process.pid, facts["boot_id"])
        process.terminate()
        assert process.wait() == 0
        assert list(ready.parent.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_every_stream_with_its_outcome_and_then_the_process(number: int) -> None:
    with child(SCRIPTED) as process:
        url = serving(process)
        started = start_run(url)
        query = {"conversation": started["conversation"]}
        with httpx.stream("GET", f"{url}/api/chat", params=query, trust_env=False) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "event: token"
            process.send_signal(number)
            rest = list(lines)
        assert "event: end" in rest
        assert any('"status": "interrupted"' in line for line in rest)
        assert "runtime closed" in line_with(process, "runtime closed")
        assert process.wait() == 0


def test_the_end_of_the_owners_pipe_is_the_end_of_the_process() -> None:
    with child(SCRIPTED, SOPHOS_OWNER_PIPE="stdin") as process:
        serving(process)
        assert process.stdin is not None
        process.stdin.write("bytes that mean nothing")
        process.stdin.close()
        process.stdin = None
        assert line_with(process, "runtime closed")
        assert process.wait() == 0


def test_without_an_owner_the_end_of_standard_input_means_nothing() -> None:
    with child(SCRIPTED) as process:
        url = serving(process)
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        assert httpx.get(f"{url}/api/readyz", trust_env=False).status_code == 200


def test_a_second_signal_exits_at_once() -> None:
    with child(SCRIPTED, SOPHOS_READY_FILE="", OLLAMA_MODEL="never-drains") as process:
        serving(process)
        process.terminate()
        line_with(process, "draining")
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM


def test_a_signal_while_the_runtime_is_opened_ends_the_process() -> None:
    with child(SCRIPTED, OLLAMA_MODEL="never-opens") as process:
        line_with(process, "opening")
        process.terminate()
        assert process.wait() == 0


def test_a_runtime_that_cannot_be_opened_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    settings = {"OLLAMA_MODEL": "refuse-to-open", "SOPHOS_READY_FILE": str(ready)}
    with child(SCRIPTED, **settings) as process:
        _, errors = process.communicate()
        assert process.returncode == 2
        assert "sophos: The database is in use by another server. Stop that server." in errors
        assert "Traceback" not in errors
        assert not ready.exists()


def test_a_model_that_does_not_answer_is_named_and_the_server_serves() -> None:
    with child(SCRIPTED, OLLAMA_MODEL="not-there") as process:
        url = serving(process)
        assert "Start it" in line_with(process, "Not ready")
        assert httpx.get(f"{url}/api/readyz", trust_env=False).status_code == 503


def test_a_protection_that_is_off_is_named_in_the_log() -> None:
    with child(SCRIPTED, SOPHOS_PROTECT_DRAIN="off") as process:
        assert "protection=DRAIN" in line_with(process, "A protection is off.")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"PORT": "x"}, "PORT"),
        ({"HOST": "0.0.0.0"}, "SOPHOS_TOKEN"),
        ({"HOST": "no.such.host.invalid"}, "127.0.0.1"),
        ({"HOST": "203.0.113.7", "SOPHOS_TOKEN": "s3cret-s3cret"}, "127.0.0.1"),
        ({"SOPHOS_TOKEN": "s3cret"}, "SOPHOS_TOKEN"),
        ({"SOPHOS_UNKNOWN": "1"}, "SOPHOS_UNKNOWN"),
        ({"SOPHOS_READY_FILE": "/dev/null/x"}, "SOPHOS_READY_FILE"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(settings: dict[str, str], named: str) -> None:
    with child(SOPHOS, **settings) as process:
        output, errors = process.communicate()
        assert (process.returncode, output) == (2, "")
        assert errors.startswith("sophos: ")
        assert errors.count("\n") == 1
        assert named in errors
        assert "s3cret" not in errors


def test_the_token_is_in_no_answer_and_no_log_line() -> None:
    token = "s3cret-s3cret"
    with child(SCRIPTED, SOPHOS_TOKEN=token) as process:
        url = serving(process)
        with httpx.Client(base_url=url, trust_env=False) as http:
            answers = [
                http.get("/api/conversations", headers={"Authorization": f"Bearer {token}"}),
                http.get("/api/conversations", headers={"Authorization": f"Bearer {token}x"}),
                http.get(f"/api/nothing?token={token}", headers={"Authorization": token}),
                http.post("/sign-in", data={"token": f"{token}x"}),
                http.post("/sign-in", data={"token": token}),
                http.post("/api/chat", content=token, headers={"Content-Type": token}),
                http.get("/sign-in"),
            ]
        told = "".join(answer.text + str(answer.headers) for answer in answers)
        assert [answer.status_code for answer in answers] == [200, 401, 401, 401, 303, 415, 200]
        assert token not in told
        process.terminate()
        output, errors = process.communicate()
        assert token not in output + errors


def test_a_busy_port_is_told_with_its_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with child(SOPHOS, PORT=port) as process:
            _, errors = process.communicate()
            assert process.returncode == 2
            assert errors == (
                f"sophos: Port {port} on 127.0.0.1 is taken. Stop the process that listens there,"
                " or set PORT to another one (0 picks a free one).\n"
            )


def test_every_setting_and_every_protection_can_be_listed() -> None:
    with child([*SOPHOS, "--settings"]) as process:
        output, _ = process.communicate()
        assert process.returncode == 0
        assert "SOPHOS_OWNER_PIPE (not set)" in output
        assert "SOPHOS_PROTECT_RECONCILE (on)" in output
    with child([*SOPHOS, "--protections"], SOPHOS_PROTECT_DRAIN="off") as process:
        output, _ = process.communicate()
        assert process.returncode == 0
        assert "DRAIN is OFF" in output
        assert "RECONCILE is on" in output
