"""The runs alive in this process: start, subscribe, cancel, drain. All of it dies with the process.

That one conversation has one active run is held by the database; the map here is its fast path.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from sophos.errors import ShuttingDown, StorageUnavailable
from sophos.events import ChatError, End, Event, Gap, Sent
from sophos.protections import Protection, Protections
from sophos.run import ACTIVE, Run, RunStatus
from sophos.runtime.event_log import EventLog
from sophos.runtime.executor import ActiveRun, Executor, Outcome, announcement
from sophos.storage.runs import Claim, Runs

ENDED_REMEMBERED: Final = 1_000  # runs whose last event number is known after their end
CANCEL_GRACE: Final = 5.0  # seconds a cancelled run has to end before the process goes on
RECORD_AGAIN: Final = 1.0  # seconds between two attempts to record an outcome

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Registry:
    """Creates, keeps and ends the tasks of runs."""

    def __init__(self, *, runs: Runs, executor: Executor, protections: Protections) -> None:
        self._runs = runs
        self._executor = executor
        self._protections = protections
        self._active: dict[str, ActiveRun] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._claiming: defaultdict[str, set[asyncio.Task[Claim]]] = defaultdict(set)
        self._ended: OrderedDict[str, int] = OrderedDict()
        self._unrecorded: dict[str, tuple[Run, Outcome]] = {}
        self._draining = asyncio.Event()

    async def start(self, *, run: Run, title: str | None, body: str) -> Claim:
        """Claim the run and execute it; both happen even if the caller is cancelled in between.

        Raises ShuttingDown and what `Runs.claim` raises.
        """
        if self._draining.is_set():
            raise ShuttingDown
        claiming = self._keep(self._start(run=run, title=title, body=body))
        self._claiming[run.conversation_id].add(claiming)
        claiming.add_done_callback(partial(self._claimed, run.conversation_id))
        return await asyncio.shield(claiming)

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the runs; a drain waits for it too."""
        self._keep(work)

    def alive(self, run: Run) -> bool:
        """Whether the run is alive in this process."""
        found = self._active.get(run.conversation_id)
        return found is not None and found.run.id == run.id

    async def claimed(self, conversation: str) -> None:
        """Return once no run of the conversation is on record that this process is about to register."""
        if claiming := self._claiming.get(conversation):
            await asyncio.wait(claiming)

    def cancel(self, run: Run) -> bool:
        """Signal a run whose cancel is on record. False if it is not alive in this process."""
        if not self.alive(run):
            return False
        found = self._active[run.conversation_id]
        found.cancel_requested = True
        found.stop()
        return True

    async def subscribe(
        self, conversation: str, *, newest: Run, last_event_id: str | None
    ) -> AsyncIterator[Sent] | None:
        """What a viewer of the conversation is sent; None if it has had the last event of `newest`.

        `newest` is the run asked for, or the newest of the conversation, as its row is now.
        """
        asked, number = _parse(last_event_id)
        found = self._active.get(conversation)
        if found is not None and found.run.id == newest.id:
            if asked == newest.id and number <= len(found.log):
                replays = self._protections.on(Protection.REPLAY)
                return found.log.follow(number if replays else len(found.log))
            return _replay(found.log, gap=asked not in (None, newest.id))
        if asked == newest.id and self._ended.get(newest.id) == number:
            return None
        due, _ = self._unrecorded.get(conversation, (None, None))
        if due is not None and due.id == newest.id:
            return _one(
                announcement(newest, Outcome(status=RunStatus.FAILED, error=StorageUnavailable()))
            )
        return _one(_told(newest))

    async def drain(self, grace: float) -> None:
        """Take no more runs; let each reach a step boundary within `grace` seconds; end the rest."""
        self._draining.set()
        for active in self._active.values():
            if self._protections.on(Protection.DRAIN):
                active.drain()
            else:
                active.stop()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace)
        for active in self._active.values():
            active.stop()
        if self._tasks:
            _, left = await asyncio.wait(self._tasks, timeout=CANCEL_GRACE)
            if left:
                logger.error("Runs did not end in time.", extra={"runs": len(left)})

    async def _start(self, *, run: Run, title: str | None, body: str) -> Claim:
        await self.settle(run.conversation_id)
        claim = await self._runs.claim(run=run, title=title, body=body)
        if not claim.repeated:
            active = ActiveRun(run=run, log=EventLog(run.id))
            self._active[run.conversation_id] = active
            self._keep(self._execute(active))
            if self._draining.is_set():
                active.drain()
        return claim

    async def _execute(self, active: ActiveRun) -> None:
        conversation = active.run.conversation_id
        try:
            due = await self._executor.execute(active)
            if due is not None:
                self._unrecorded[conversation] = (active.run, due)
                self._keep(self._record_later(conversation))
        finally:
            active.log.close()
            if self._active.get(conversation) is active:
                del self._active[conversation]
            self._ended[active.run.id] = len(active.log)
            while len(self._ended) > ENDED_REMEMBERED:
                self._ended.popitem(last=False)

    async def _record_later(self, conversation: str) -> None:
        """Try again until the outcome is on record; if this process ends first, the next finds it."""
        while conversation in self._unrecorded and not self._draining.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._draining.wait(), RECORD_AGAIN)
            with suppress(StorageUnavailable):
                await self.settle(conversation)

    async def settle(self, conversation: str) -> None:
        """Record an outcome that could not be recorded before: no row stays `running`.

        Raises StorageUnavailable if it still cannot.
        """
        due = self._unrecorded.get(conversation)
        if due is not None:
            await self._executor.record(*due)
            # Another may have recorded it first, and a later run's be due by now.
            if self._unrecorded.get(conversation) is due:
                del self._unrecorded[conversation]

    def _claimed(self, conversation: str, claiming: asyncio.Task[Claim]) -> None:
        self._claiming[conversation].discard(claiming)
        if not self._claiming[conversation]:
            del self._claiming[conversation]

    def _keep(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        # The loop holds its tasks weakly: one that nobody else holds may be collected.
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _replay(log: EventLog, *, gap: bool) -> AsyncIterator[Sent]:
    if gap:
        yield Sent(event=Gap(), id=None)
    async for sent in log.follow(0):
        yield sent


async def _one(event: Event) -> AsyncIterator[Sent]:
    yield Sent(event=event, id=None)


def _told(run: Run) -> Event:
    """The end of a run that is not alive here, from its row."""
    if run.status is RunStatus.FAILED:
        return ChatError(
            conversation=run.conversation_id,
            run=run.id,
            code=run.error_code or "",
            message=run.error_message or "",
        )
    if run.status in ACTIVE - {RunStatus.WAITING}:
        # Another process has it, or its outcome waits to be recorded: the record is all there is.
        return Gap()
    return End(conversation=run.conversation_id, run=run.id, status=run.status)


def _parse(last_event_id: str | None) -> tuple[str | None, int]:
    """`<run>:<n>`; (None, 0) for anything else."""
    run, colon, number = (last_event_id or "").rpartition(":")
    if not colon or not run or not number.isascii() or not number.isdigit() or len(number) > 18:
        return None, 0
    return run, int(number)
