"""Another notebook's kernel on a bench: its cells, its Stop and Restart, and what is below it."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from lab.bench import Bench
from lab.process import ProcessError
from lab.resources import no_process_left

SITE = """
import pathlib
from lab.bench import Bench
inner = Bench("inner", root=pathlib.Path({root!r}))
print(inner.site.process.pid)
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench("kernel", tools=("tasks",), root=tmp_path) as bench:
        yield bench


def test_stop_spares_what_the_kernel_started_and_restart_ends_it(
    bench: Bench, tmp_path: Path
) -> None:
    site = int(bench.kernel.run(SITE.format(root=str(tmp_path / "inner"))))
    live = bench.tables.processes(raw=True)
    below = live.query("started_by == 'kernel#1'")
    assert list(below[["process", "pid"]].itertuples(index=False)) == [("site", site)]
    bench.kernel.press_stop()
    assert bench.kernel.run("print(inner.site.process.state)") == "running\n"
    assert not no_process_left(below).holds
    bench.kernel.restart()
    assert no_process_left(below).holds
    with pytest.raises(ProcessError, match="NameError: name 'inner' is not defined"):
        bench.kernel.run("inner")


def test_it_ends_with_its_bench_and_what_it_wrote_is_in_the_workspace(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert bench.kernel.run("print(6 * 7)") == "42\n"
    pid = bench.kernel.process.pid
    bench.close()
    assert not psutil.pid_exists(pid)
    assert list(home.rglob("*")) == []


def test_holdings_name_each_resource_with_its_holder(bench: Bench) -> None:
    bench.client.wait(bench.client.start("List my tasks.").run)
    rows = list(bench.tables.resources().itertuples(index=False, name=None))
    assert ("server#1", "process", "notebook") in rows
    assert ("mcp tasks", "process", "server#1") in rows
    assert ("keeper", "process", "mcp tasks") in rows
    assert ("a port", "listening socket", "server#1") in rows
    assert ("db/sophos.db", "open file", "server#1") in rows
    bench.sophos.stop()
    left = {holder for *_, holder in bench.tables.resources().itertuples(index=False, name=None)}
    assert left == {"notebook", "model#1"}
