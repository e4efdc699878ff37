"""The doctor looks, says what to do, and changes nothing."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from lab.finding import Verdict, good, missing, note
from lab.session import Session
from lab.surroundings import (
    data_folder,
    door,
    model,
    ollama_asked_for,
    port,
    port_number,
    port_of,
)


@contextmanager
def answering(body: Any) -> Iterator[int]:
    """A server on a free port that says the same to everyone."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def test_a_free_port_is_good() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        number = taken.getsockname()[1]
    assert port({"PORT": str(number)}).verdict is Verdict.GOOD


def test_a_port_that_a_sophos_has_is_said_to_be_its() -> None:
    with answering({"status": "ok", "pid": 4711}) as number:
        finding = port({"PORT": str(number)})
    assert (finding.verdict, finding.seen) == (Verdict.NOTE, "taken by a Sophos, pid 4711")


def test_a_port_that_something_else_has_is_said_to_be_taken() -> None:
    with answering(["not a Sophos"]) as number:
        assert port({"PORT": str(number)}).seen == "taken by another program"


@pytest.mark.parametrize("text", ["", "-1", "65536", "5173.0", "٣", "http"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="from 0 to 65535"):
        port_number(text)


def test_a_folder_that_only_its_owner_may_look_into_is_good(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert data_folder(tmp_path).verdict is Verdict.GOOD
    assert data_folder(tmp_path / "not there yet").verdict is Verdict.GOOD


def test_a_folder_that_others_may_look_into_is_told_with_how_to_close_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    finding = data_folder(tmp_path)
    assert finding.verdict is Verdict.NOTE
    assert f"chmod 700 {tmp_path}" in finding.remedy


def test_what_stands_where_the_data_should_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    assert data_folder(tmp_path / "data").verdict is Verdict.MISSING


@pytest.mark.parametrize(
    ("environ", "verdict"),
    [
        ({}, Verdict.GOOD),
        ({"HOST": "::1", "SOPHOS_TOKEN": "t"}, Verdict.GOOD),
        ({"HOST": "0.0.0.0", "SOPHOS_TOKEN": "t"}, Verdict.GOOD),
        ({"HOST": "0.0.0.0"}, Verdict.MISSING),
    ],
)
def test_a_door_that_is_open_to_others_is_missing_its_token(
    environ: dict[str, str], verdict: Verdict
) -> None:
    assert door(environ).verdict is verdict


def test_a_finding_reads_as_a_sentence() -> None:
    told = [
        good("Disk", "it is there"),
        note("Disk", "small", "nothing to do"),
        missing("Disk", "full", "rm x"),
    ]
    assert [str(finding) for finding in told] == [
        "ok: Disk: it is there.",
        "note: Disk: small. Nothing to do.",
        "missing: Disk: full. To mend it: rm x.",
    ]


def test_an_ollama_with_the_model_is_good() -> None:
    with answering({"models": [{"name": "qwen3:latest"}]}) as number:
        environ = {"OLLAMA_HOST": f"127.0.0.1:{number}", "OLLAMA_MODEL": "qwen3"}
        assert model(environ, needed=True).verdict is Verdict.GOOD


def test_an_ollama_without_the_model_is_missing_only_where_it_is_needed() -> None:
    with answering({"models": []}) as number:
        environ = {"OLLAMA_HOST": f"http://127.0.0.1:{number}/"}
        needed, spare = model(environ, needed=True), model(environ, needed=False)
    assert (needed.verdict, spare.verdict) == (Verdict.MISSING, Verdict.NOTE)
    assert "ollama pull qwen3" in needed.remedy


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", "http://localhost:11434"),
        ("0.0.0.0", "http://0.0.0.0:11434"),
        ("gpu:8000", "http://gpu:8000"),
        ("https://models.example/", "https://models.example"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(text: str, url: str) -> None:
    assert ollama_asked_for({"OLLAMA_HOST": text}) == (url, "qwen3")


def test_a_port_that_this_lab_has_is_its_own_and_no_trouble() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        page = {"Web site": f"http://127.0.0.1:{number}/"}
        ours = Session(pid=7, model="scripted", pages=page)
        assert port({"PORT": str(number)}, ours) == port_of("Sophos", number, ours)
        found = port_of("the web site", number, ours)
        assert (found.verdict, found.seen) == (
            Verdict.GOOD,
            "taken by the lab that runs here, pid 7",
        )
        assert port_of("the web site", number).verdict is Verdict.NOTE
