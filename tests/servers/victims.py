"""Processes that are killed with SIGKILL at a named point, and what they leave on disk.

    house ──► a victim drives one run and dies at a failpoint ──► copies of what it left
                                                                  ──► resumed, or a new message …

A victim is a real process with the real runtime in it, forked from one that has imported it
already: a start costs milliseconds. What it left is copied for each way to go on, so that one death
is looked at from many sides.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from runtime_parts import House, furnish

from sophos.events import Trace, TraceEvent
from sophos.failpoints import parse_failpoints
from sophos.runtime.lifecycle import open_runtime
from sophos.settings import Settings

WITHIN: Final = 30.0  # seconds for a victim to die; only a fault is that long
TOLD: Final = "told.jsonl"
_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["sophos.runtime.agent_stack", "victims"])


@dataclass(frozen=True, kw_only=True)
class Left:
    """What a dead process left: its files, and what its viewer had been told of by then."""

    house: House
    told_results: list[str]

    def copy(self, name: str) -> House:
        """The same files in another folder, for one way to go on."""
        folder = self.house.folder.with_name(name)
        shutil.copytree(self.house.folder, folder)
        return furnish(folder, self.house.model)


def kill_at(
    house: House,
    rule: str,
    *,
    text: str | None,
    conversation: str | None = None,
    key: str | None = None,
    cancel_first: bool = False,
    **settings: Any,
) -> Left:
    """Have a process start a run with `text`, or a resume, and die at the point of `rule`.

    `cancel_first` puts a cancel on record, as the process that dies before it acts on it does.
    """
    armed = house.settings(
        failpoints=parse_failpoints(f"{rule}=kill"),
        failpoint_log=house.folder / "hits.jsonl",
        **settings,
    )
    victim = _FORKS.Process(
        target=drive, args=(armed, text, conversation, key, cancel_first), daemon=True
    )
    victim.start()
    victim.join(WITHIN)
    if victim.exitcode is None:
        victim.kill()
        victim.join()
        raise AssertionError(f"{rule} was not passed")
    assert victim.exitcode == -signal.SIGKILL, f"it ended otherwise: {victim.exitcode}"
    victim.close()
    return Left(house=house, told_results=_told(house.folder))


def _told(folder: Path) -> list[str]:
    if not (folder / TOLD).exists():
        return []
    lines = (folder / TOLD).read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def drive(settings: Settings, *what: Any) -> None:
    """What a victim does, with a viewer that notes down each result it is told of."""
    asyncio.run(_drive(settings, *what))


async def _drive(
    settings: Settings,
    text: str | None,
    conversation: str | None,
    key: str | None,
    cancel_first: bool,
) -> None:
    async with open_runtime(settings, boot_id=f"victim-{os.getpid()}") as runtime:
        if text is None:
            assert conversation is not None
            started = await runtime.start_resume(conversation=conversation, key=key)
        else:
            started = await runtime.start_message(text, conversation=conversation, key=key)
        if cancel_first:
            await runtime.record.runs.request_cancel(started.run, runtime.now())
        stream = await runtime.subscribe(started.conversation, run=started.run, last_event_id=None)
        assert stream is not None
        with (settings.config_dir / TOLD).open("a", encoding="utf-8", buffering=1) as told:
            async for sent in stream:
                event = sent.event
                if isinstance(event, Trace) and event.event is TraceEvent.RESULT:
                    told.write(json.dumps(event.event_name) + "\n")
        # Some points come after the end is told.
        await asyncio.Event().wait()
