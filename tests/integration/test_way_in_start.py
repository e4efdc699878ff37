"""One command starts the whole lab, and whatever ends it ends everything it started."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from lab.environment import Environment
from lab.facts import until
from lab.lockfile import is_held
from lab.settings import clean

# As from a terminal: tests that run in the background hand an ignored SIGINT down.
START = """
import signal
import sys
from pathlib import Path
from lab.environment import Environment
from lab.start import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[2:], Environment(root=Path(sys.argv[1]))))
"""
# Its parent is gone at once, so it is in nobody's list of children.
FORGET = "import subprocess; subprocess.run(['sh', '-c', 'sleep 600 & echo $! > {path}'])"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "mcp.json").write_text('{"mcpServers": {}}')
    (tmp_path / "config" / "system.md").write_text("Be brief.")
    (tmp_path / "lessons").mkdir()
    return Environment(root=tmp_path)


@pytest.fixture
def lab(
    environment: Environment, request: pytest.FixtureRequest
) -> Iterator[subprocess.Popen[str]]:
    """A lab that is coming up; the test's parameter, if any, is what it is started with."""
    flags = ["--no-browser", *getattr(request, "param", ["--no-jupyter"])]
    with subprocess.Popen(
        [sys.executable, "-c", START, str(environment.root), *flags],
        env={**clean(os.environ), "PORT": "0"},
        cwd=environment.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield process
        process.kill()


def pages(lab: subprocess.Popen[str], environment: Environment) -> dict[str, str]:
    """Where everything is, once it is up."""
    assert lab.stdout is not None
    told = ""
    while "Ctrl-C" not in told:
        line = lab.stdout.readline()
        assert line, told
        told += line
    found: dict[str, str] = json.loads((environment.state / "session.json").read_text())["pages"]
    assert all(url in told for url in found.values())
    return found


def get(url: str, **body: Any) -> Any:
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def descendants(lab: subprocess.Popen[str]) -> list[psutil.Process]:
    found = psutil.Process(lab.pid).children(recursive=True)
    assert found
    return found


def see_gone(environment: Environment, processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=30)
    assert not alive
    assert not is_held(environment.session_lock)


def forget_a_process(jupyter: str, environment: Environment) -> psutil.Process:
    """Start a kernel, and in it a process that outlives its parent."""
    page, _, token = jupyter.partition("?token=")
    address = page.partition("/lab")[0]
    kernel = get(f"{address}/api/kernels?token={token}", name="python3")["id"]
    place = environment.state / "jupyter" / "runtime" / f"kernel-{kernel}.json"
    client = BlockingKernelClient(connection_file=str(place))
    client.load_connection_file()
    client.start_channels()
    try:
        client.execute(FORGET.format(path=environment.root / "pid"), reply=True)
    finally:
        client.stop_channels()
    return psutil.Process(int((environment.root / "pid").read_text()))


@pytest.mark.parametrize("lab", [[]], indirect=True)
def test_what_a_kernel_started_and_forgot_ends_with_the_lab(
    lab: subprocess.Popen[str], environment: Environment
) -> None:
    found = pages(lab, environment)
    assert list(found) == ["JupyterLab", "Sophos", "Web site"]
    forgotten = forget_a_process(found["JupyterLab"], environment)
    running = [*descendants(lab), forgotten]
    lab.send_signal(signal.SIGTERM)
    assert lab.wait() == 0
    see_gone(environment, running)
    assert not (environment.state / "session.json").exists()


def test_a_killed_lab_leaves_nothing(lab: subprocess.Popen[str], environment: Environment) -> None:
    found = pages(lab, environment)
    assert get(f"{found['Sophos']}/api/healthz")["status"] == "ok"
    running = descendants(lab)
    lab.kill()
    lab.wait()
    see_gone(environment, running)


def test_who_ends_early_is_named_with_its_last_words(
    lab: subprocess.Popen[str], environment: Environment
) -> None:
    pages(lab, environment)
    running = descendants(lab)
    ready = environment.state / "session" / "processes" / "site.ready.json"
    os.kill(json.loads(ready.read_text())["pid"], signal.SIGKILL)
    assert lab.stdout is not None
    told = iter(lab.stdout.readline, "")
    assert "Web site has ended (signal 9, Killed)" in next(line for line in told if line.strip())
    lab.send_signal(signal.SIGINT)
    assert lab.wait() == 0
    see_gone(environment, running)


def test_who_does_not_start_ends_the_others(
    environment: Environment, capfd: pytest.CaptureFixture[str]
) -> None:
    (environment.root / "data" / "db" / "sophos.db").mkdir(parents=True)
    command = [sys.executable, "-c", START, str(environment.root), "--no-browser", "--no-jupyter"]
    environ = {**clean(os.environ), "PORT": "0"}
    ended = subprocess.run(command, env=environ, cwd=environment.root, check=False)
    assert ended.returncode == 1
    assert "sophos#1 ended before it was ready" in capfd.readouterr().err
    records = (environment.state / "session" / "processes").glob("*.process.json")
    pids = [json.loads(path.read_text())["pid"] for path in records]
    until(lambda: not any(map(psutil.pid_exists, pids)), what="the end of the others")
