"""One file has one owner, for as long as that process lives and no longer."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from storage_rows import make_run, open_store

from sophos.errors import StartupError

CHILD = Path(__file__).with_name("storage_child.py")


async def open_and_close(folder: Path) -> None:
    async with open_store(folder):
        pass


class Holder:
    """A process that owns the file, and a child of its own that waits for standard input to close."""

    def __init__(self, process: subprocess.Popen[str], stdin: IO[str], stdout: IO[str]) -> None:
        self.process = process
        self.stdin = stdin
        self.grandchild = int(stdout.readline())


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    command = [sys.executable, str(CHILD), "hold", str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        yield Holder(process, process.stdin, process.stdout)


def test_a_second_opener_is_refused_and_told_who_owns_the_file(
    tmp_path: Path, holder: Holder
) -> None:
    with pytest.raises(StartupError) as caught:
        asyncio.run(open_and_close(tmp_path))
    assert f"process {holder.process.pid}, boot boot-of-the-child" in caught.value.message
    assert "DATABASE_PATH" in caught.value.message


def test_another_name_for_the_same_file_is_refused_too(tmp_path: Path, holder: Holder) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "sophos.db").symlink_to(tmp_path / "sophos.db")
    with pytest.raises(StartupError, match=f"process {holder.process.pid}"):
        asyncio.run(open_and_close(tmp_path / "elsewhere"))


def test_a_killed_owner_owns_nothing_though_its_child_lives_on(
    tmp_path: Path, holder: Holder
) -> None:
    holder.process.kill()
    holder.process.wait()
    os.kill(holder.grandchild, 0)
    asyncio.run(open_and_close(tmp_path))


def test_the_owner_in_this_process_counts_and_closing_gives_the_file_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path):
            with pytest.raises(StartupError, match=f"process {os.getpid()}"):
                await open_and_close(tmp_path)
        await open_and_close(tmp_path)

    asyncio.run(scenario())


def test_a_start_that_fails_gives_the_file_back(tmp_path: Path) -> None:
    (tmp_path / "sophos.db").write_text("hello")
    with pytest.raises(StartupError, match="not a database"):
        asyncio.run(open_and_close(tmp_path))
    (tmp_path / "sophos.db").unlink()
    asyncio.run(open_and_close(tmp_path))


def test_without_the_protection_two_owners_write_to_one_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            open_store(tmp_path, single_owner=False) as one,
            open_store(tmp_path, single_owner=False) as two,
        ):
            run = await one.start(make_run())
            assert await two.runs.unfinished() == [run]

    asyncio.run(scenario())
