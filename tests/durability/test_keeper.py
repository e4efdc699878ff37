"""Children never outlive their owner, whatever kills it, and however much they would like to."""

import os
import signal
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from toolboxes import HERE, alive, configure, facts, keepers, pids, small

from lab.facts import until
from sophos.tools import keeper

ROOT: Final = Path(__file__).parents[2]
# Starts its arguments as a toolbox would, and then does nothing.
OWNER: Final = textwrap.dedent("""
    import os, subprocess, sys
    keeper, *command = sys.argv[1:]
    kept = [sys.executable, "-I", "-S", keeper, str(os.getpid()), *command]
    child = subprocess.Popen(kept, stdin=subprocess.PIPE, start_new_session=True)
    sys.exit(child.wait())
""")
# The real thing: a toolbox with whatever stands in a folder's mcp.json.
SOPHOS: Final = textwrap.dedent("""
    import asyncio, os, signal, sys
    from pathlib import Path
    from toolboxes import toolbox_in

    async def main():
        told = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
        async with toolbox_in(Path(sys.argv[1])) as toolbox:
            await toolbox.offer()
            await told.wait()

    asyncio.run(main())
""")


def owner_of(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-ISc", OWNER, keeper.__file__, *command])


def run(*command: str, said: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    kept = [sys.executable, "-I", "-S", keeper.__file__, str(os.getpid()), *command]
    return subprocess.run(
        kept, input=said, capture_output=True, start_new_session=True, check=False
    )


def none_left(journal: Path, owner: int) -> bool:
    return not any(alive(pid) for pid in [*pids(journal), *keepers(owner)])


@pytest.mark.parametrize("manners", [[], ["stubborn"], ["launcher"], ["stubborn", "launcher"]])
def test_nothing_outlives_an_owner_that_is_killed(tmp_path: Path, manners: list[str]) -> None:
    server = small(tmp_path / "a", *manners)
    with owner_of(server["command"], *server["args"]) as owner:
        until(lambda: facts(tmp_path / "a"), what="the server")
        assert all(alive(pid) for pid in pids(tmp_path / "a"))
        owner.kill()
    until(lambda: none_left(tmp_path / "a", owner.pid), what="the end of all it started")


def test_a_grandchild_does_not_outlive_the_command_that_started_it(tmp_path: Path) -> None:
    server = small(tmp_path / "a", "launcher")
    with owner_of(server["command"], *server["args"]) as owner:
        until(lambda: facts(tmp_path / "a"), what="the server")
        command, grandchild = pids(tmp_path / "a")
        os.kill(command, signal.SIGKILL)
        until(lambda: not alive(grandchild), what="the grandchild's end")
    assert owner.returncode not in (0, None)
    until(lambda: none_left(tmp_path / "a", owner.pid), what="the guard's end")


def test_the_command_keeps_its_exit_code_and_its_output() -> None:
    child = [sys.executable, "-ISc", "import sys; print(sys.stdin.read(), end=''); sys.exit(7)"]
    done = run(*child, said=b"words")
    assert (done.returncode, done.stdout) == (7, b"words")


def test_a_command_that_is_not_there_says_so() -> None:
    done = run("/no/such/command")
    assert done.returncode == keeper.NOT_FOUND
    assert b"No such file" in done.stderr


def test_nothing_is_started_for_an_owner_that_is_dead_already(tmp_path: Path) -> None:
    kept = [sys.executable, "-I", "-S", keeper.__file__, str(os.getppid())]
    subprocess.run([*kept, "touch", str(tmp_path / "ran")], start_new_session=True, check=True)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_toolbox_whose_process_ends(tmp_path: Path, number: int) -> None:
    names = {"plain": [], "stubborn": ["stubborn", "launcher"]}
    configure(tmp_path, {name: small(tmp_path / name, *names[name]) for name in names})
    path = os.pathsep.join([str(HERE), str(ROOT)])
    with subprocess.Popen(
        [sys.executable, "-c", SOPHOS, str(tmp_path)], env={**os.environ, "PYTHONPATH": path}
    ) as owner:
        until(lambda: all(facts(tmp_path / name) for name in names), what="both servers")
        owner.send_signal(number)
    for name in names:
        until(partial(none_left, tmp_path / name, owner.pid), what=f"the end of {name}")
