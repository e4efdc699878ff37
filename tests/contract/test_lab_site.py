"""The lab's web site, and what every serving process of the lab promises its owner."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from lab_children import running

from lab.process import Process


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Process]:
    with running("lab.site", tmp_path, "--ledger", str(tmp_path / "visits.jsonl")) as process:
        yield process


@pytest.fixture
def client(site: Process) -> Iterator[httpx.Client]:
    headers = {"user-agent": "a visitor"}
    with httpx.Client(base_url=site.ready["url"], headers=headers, trust_env=False) as client:
        yield client


def test_the_pages_are_there(client: httpx.Client) -> None:
    short, article = client.get("/"), client.get("/article")
    assert "harmless example" in short.text
    assert 1400 < len(article.text.split()) < 2000
    assert short.headers["content-type"] == "text/html; charset=utf-8"
    assert "Disallow" not in client.get("/robots.txt").text
    assert client.get("/slow?seconds=0").status_code == 200


def test_every_get_is_in_the_file_by_the_time_it_is_answered(
    client: httpx.Client, tmp_path: Path
) -> None:
    client.get("/?a=1")
    client.get("/nowhere")
    lines = [json.loads(line) for line in (tmp_path / "visits.jsonl").read_text().splitlines()]
    seen = [(line["n"], line["path"], line["query"], line["status"]) for line in lines]
    assert seen == [(1, "/", "a=1", 200), (2, "/nowhere", "", 404)]
    assert {line["user_agent"] for line in lines} == {"a visitor"}
    assert client.get("/_lab/visits").json()["visits"] == lines


def test_looking_at_the_ledger_and_at_heads_is_no_visit(client: httpx.Client) -> None:
    assert client.head("/").status_code == 200
    client.get("/_lab/visits")
    assert client.get("/_lab/visits").json() == {"visits": []}


def test_the_ledger_goes_on_after_a_restart(site: Process) -> None:
    httpx.get(site.ready["url"], trust_env=False)
    site.kill()
    site.start()
    httpx.get(site.ready["url"] + "/article", trust_env=False)
    visits = httpx.get(site.ready["url"] + "/_lab/visits", trust_env=False).json()["visits"]
    assert [(visit["n"], visit["path"]) for visit in visits] == [(1, "/"), (2, "/article")]


def test_a_slow_page_is_counted_before_it_is_answered(client: httpx.Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        client.get("/slow?seconds=600", timeout=httpx.Timeout(10, read=0.1))
    (visit,) = client.get("/_lab/visits").json()["visits"]
    assert visit["path"] == "/slow"


@pytest.mark.parametrize("seconds", ["soon", "-1", "nan", "inf", "601"])
def test_a_wait_that_is_none_is_refused(client: httpx.Client, seconds: str) -> None:
    assert client.get("/slow", params={"seconds": seconds}).status_code == 400
    assert client.post("/", json={}).status_code == 405


def test_the_ready_file_names_the_process_that_listens(site: Process) -> None:
    assert site.ready["pid"] == site.pid
    assert site.ready["url"] == f"http://127.0.0.1:{site.ready['port']}"


def test_it_ends_well_when_asked_and_when_its_owner_is_gone(site: Process) -> None:
    assert site.stop() == 0
    site.start()
    assert site.interrupt() == 0
    site.start()
    pipe = site._started().stdin
    assert pipe is not None
    pipe.close()
    assert site.wait() == 0


@pytest.mark.parametrize(
    ("module", "options", "words"),
    [
        ("lab.site", ["--ledger", "{broken}"], "is no ledger of visits"),
        ("lab.model", ["--script", "{broken}"], "is no script"),
        ("lab.model", ["--script", "{missing}"], "No such file"),
        ("lab.model", ["--tokens-per-second", "-1"], "write a number from 0 to"),
        ("lab.model", ["--port", "{taken}"], "Another --port"),
    ],
)
def test_what_cannot_start_says_why(
    site: Process, tmp_path: Path, module: str, options: list[str], words: str
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"a": 1}\n')
    names = {"broken": broken, "missing": tmp_path / "missing", "taken": site.ready["port"]}
    command = [sys.executable, "-m", module, *(option.format(**names) for option in options)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode in (1, 2)
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
