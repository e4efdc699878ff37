"""A real toolbox over small real servers, and the facts the servers note down."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import psutil

from sophos.protections import Protections
from sophos.tools.toolbox import Toolbox, open_toolbox

HERE: Final = Path(__file__).parent
FOUND = TypeVar("FOUND")


def small(journal: Path, *manners: str, **keys: Any) -> dict[str, Any]:
    """A description of `small.py` for mcp.json."""
    args = ["-IS", str(HERE / "small.py"), str(journal), *manners]
    return {"command": sys.executable, "args": args, **keys}


def configure(folder: Path, servers: Mapping[str, Any], **top: Any) -> None:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers, **top}), encoding="utf-8")


@asynccontextmanager
async def toolbox_in(
    folder: Path,
    servers: Mapping[str, Any] | None = None,
    *,
    tool_timeout: float = 30.0,
    result_limit: int = 10_000,
    environment: Mapping[str, str] | None = None,
    protections: Protections | None = None,
) -> AsyncIterator[Toolbox]:
    if servers is not None:
        configure(folder, servers)
    async with open_toolbox(
        config_dir=folder,
        memory_file=folder / "memory" / "memory.jsonl",
        environment={"PATH": os.defpath} if environment is None else environment,
        tool_timeout=tool_timeout,
        result_limit=result_limit,
        protections=protections or Protections(),
    ) as toolbox:
        yield toolbox


def facts(journal: Path) -> list[dict[str, Any]]:
    if not journal.exists():
        return []
    whole = journal.read_text(encoding="utf-8").rpartition("\n")[0]  # The last may be half written.
    return [json.loads(line) for line in whole.splitlines()]


def facts_with(journal: Path, word: str) -> list[Any]:
    return [fact[word] for fact in facts(journal) if word in fact]


def pids(journal: Path) -> list[int]:
    """Every process that was started, in order, with its grandchildren."""
    started = [fact for fact in facts(journal) if "started" in fact]
    return [pid for fact in started for pid in (fact["pid"], fact["grandchild"]) if pid]


async def until(look: Callable[[], FOUND | None], seconds: float = 20.0) -> FOUND:
    """The first truthy thing that `look` returns; fails if there is none in time."""
    async with asyncio.timeout(seconds):
        while not (found := look()):  # noqa: ASYNC110 - the fact is another process's
            await asyncio.sleep(0.005)
    return found


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def keepers(owner: int) -> list[int]:
    """The guards that watch `owner`."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if any(word.endswith("keeper.py") for word in line) and str(owner) in line:
            found.append(process.pid)
    return [pid for pid in found if alive(pid)]
