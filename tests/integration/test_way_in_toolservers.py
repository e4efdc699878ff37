"""The doctor tries every tool server of mcp.json as Sophos would, and says which one is sick."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from test_way_in_handshake import ANSWERS

from lab.finding import Finding, Verdict
from lab.surroundings import settings
from lab.toolservers import tool_servers

ROOT: Final = Path(__file__).parents[2]
WELL: Final = {"command": sys.executable, "args": ["-I", "-c", ANSWERS]}
FILE_OF_ITS_OWN: Final = ANSWERS.replace('"a server"', "__import__('os').environ['GRAPH']")


def tried(folder: Path, **servers: Any) -> dict[str, Finding]:
    text = json.dumps({"mcpServers": servers})
    (folder / "mcp.json").write_text(text, encoding="utf-8")
    found = tool_servers(folder, os.environ, "lab setup")
    return {finding.subject.removeprefix("Tool server "): finding for finding in found}


def test_a_server_that_starts_and_answers_is_good(tmp_path: Path) -> None:
    found = tried(tmp_path, well=WELL)
    assert found["well"].verdict is Verdict.GOOD
    assert "answers as a server" in found["well"].seen


def test_one_that_does_not_is_missing_and_an_optional_one_a_note(tmp_path: Path) -> None:
    sick = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}
    found = tried(tmp_path, sick=sick, spare={**sick, "optional": True}, well=WELL)
    verdicts = {name: finding.verdict for name, finding in found.items()}
    assert verdicts == {"sick": Verdict.MISSING, "spare": Verdict.NOTE, "well": Verdict.GOOD}


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("no-such-program", "install no-such-program"),
        ("./bin/no-such-program", "install it"),
        ("../.mcp-servers/bin/node", "lab setup"),
    ],
)
def test_one_that_is_not_installed_is_told_with_what_installs_it(
    tmp_path: Path, command: str, remedy: str
) -> None:
    finding = tried(tmp_path, gone={"command": command})["gone"]
    assert (finding.verdict, remedy in finding.remedy) == (Verdict.MISSING, True)
    assert "is not installed" in finding.seen


def test_what_is_remembered_is_not_touched(tmp_path: Path) -> None:
    server = {
        "command": sys.executable,
        "args": ["-I", "-c", FILE_OF_ITS_OWN],
        "env": {"GRAPH": "${MEMORY_FILE_PATH}"},
    }
    seen = tried(tmp_path, memory=server)["memory"].seen
    assert "memory.jsonl" in seen
    assert str(tmp_path) not in seen


def test_one_over_http_that_nobody_answers_for_is_missing(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    finding = tried(tmp_path, far={"url": f"http://127.0.0.1:{port}/mcp"})["far"]
    assert (finding.verdict, "does not answer" in finding.seen) == (Verdict.MISSING, True)


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 5}', '{"a": {}}', '{"a": 1}'])
def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "mcp.json").write_text(text, encoding="utf-8")
    [finding] = tool_servers(tmp_path, os.environ, "lab setup")
    assert finding.verdict is Verdict.MISSING


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    [finding] = tool_servers(tmp_path, os.environ, "lab setup")
    assert finding.verdict is Verdict.MISSING


def test_a_program_reads_what_a_person_reads() -> None:
    command = [sys.executable, "-m", "lab", "doctor", "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = json.loads(ended.stdout)
    subjects = {finding["subject"] for finding in told["findings"]}
    assert {"Python", "Node runs", "Tool server memory", "Disk", "Data folder"} <= subjects
    missing = [f for f in told["findings"] if f["verdict"] == "missing"]
    assert (told["missing"], ended.returncode) == (len(missing), 1 if missing else 0)
    assert all(finding["remedy"] for finding in missing)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("SOPHOS_ROOT_PATH", "sophos"), ("SOPHOS_ALLOWED_HOST", "x"), ("SOPHOS_TOKEN", "short")],
)
def test_settings_that_sophos_refuses_are_missing_with_its_own_words(
    variable: str, value: str
) -> None:
    found = settings(Path(sys.executable), {**os.environ, variable: value})
    assert found.verdict is Verdict.MISSING
    assert variable in found.seen


def test_settings_that_sophos_takes_are_good() -> None:
    assert settings(Path(sys.executable), os.environ).verdict is Verdict.GOOD
