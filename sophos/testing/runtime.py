"""A Runtime in memory, for tests of what stands in front of one.

What a run says is a script. Where the script says HOLD the run stands still until `proceed()`, so
that a test decides what happens when. Nothing is durable: all of it dies with the process.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from sophos.conversation import Checkpoint
from sophos.errors import (
    BadRequest,
    IdempotencyKeyReused,
    NotFound,
    RunNotActive,
    RunNotResumable,
    RunWaiting,
    SessionInProgress,
    ShuttingDown,
)
from sophos.events import Gap, Sent
from sophos.protections import Protections
from sophos.run import Run, RunKind, RunStatus
from sophos.runtime.answers import ConversationView, Page, Readiness, Started
from sophos.testing.thread import LiveRun, Script, ScriptedThread, outcome_of

_RUN: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)


class ScriptedRuntime:
    """The facade in memory. Each run plays the next of `scripts`; the last is played again.

    `after` is the runtime of the process before: its record and its scripts go on here.
    """

    def __init__(
        self,
        *scripts: Script,
        boot_id: str = "scripted",
        ready: bool = True,
        after: ScriptedRuntime | None = None,
        protections: Protections | None = None,
    ) -> None:
        self.boot_id, self.ready = boot_id, ready
        self._protections = protections or Protections()
        self.scripts: list[Script] = list(scripts) or (after.scripts if after else [[]])
        self.viewers = 0
        self.threads: dict[str, ScriptedThread] = dict(after.threads) if after else {}
        self._keys: dict[str, tuple[object, Started]] = {}
        self._last_ids: dict[str, str | None] = {}
        self._changed = asyncio.Event()
        self._draining = False
        self._ticks = 0

    async def start_message(
        self, text: str, *, conversation: str | None, key: str | None
    ) -> Started:
        return self._start(RunKind.MESSAGE, text, conversation, key)

    async def start_resume(self, *, conversation: str, key: str | None) -> Started:
        return self._start(RunKind.RESUME, None, conversation, key)

    async def cancel(self, run: str) -> Run:
        thread, row = self._find_run(run)
        if thread.active is None or thread.active.id != run:
            raise RunNotActive(run=run)
        if thread.live is None:
            thread.runs[-1] = replace(row, status=RunStatus.CANCELLED)
        else:
            self._end(thread, RunStatus.CANCELLED)
        return replace(row, cancel_requested_at=self._now())

    async def subscribe(
        self, conversation: str, *, run: str | None, last_event_id: str | None
    ) -> AsyncIterator[Sent] | None:
        thread = self._find(conversation)
        if thread.live is not None and run in (None, thread.live.id):
            return self._follow(thread.live, last_event_id)
        rows = [row for row in thread.runs if run in (None, row.id)]
        if not rows:
            raise NotFound(conversation=conversation)
        if last_event_id is not None and last_event_id == self._last_ids.get(rows[-1].id):
            return None
        return _once(Sent(event=outcome_of(rows[-1]), id=None))

    async def conversations(self, *, limit: int, before: str | None) -> Page:
        newest = sorted(
            self.threads.values(), key=lambda thread: thread.conversation.updated_at, reverse=True
        )
        ids = [thread.conversation.id for thread in newest]
        if before is not None and before not in ids:
            raise BadRequest("There is no such page. Start again without `before`.")
        start = 0 if before is None else ids.index(before) + 1
        shown = [thread.summary() for thread in newest[start : start + limit]]
        more = len(newest) > start + limit
        return Page(conversations=shown, next=ids[start + limit - 1] if more else None)

    async def conversation(self, conversation: str) -> ConversationView:
        thread = self._find(conversation)
        active = thread.active
        return ConversationView(
            conversation=thread.conversation,
            messages=tuple(thread.messages),
            resumable=active is None and thread.runs[-1].status is not RunStatus.COMPLETED,
            next=() if thread.runs[-1].status is RunStatus.COMPLETED else ("agent",),
            owed=thread.owed,
            active_run=active.id if active else None,
            pending_decision=None,
        )

    async def delete_conversation(self, conversation: str) -> None:
        _refuse_active(self._find(conversation))
        del self.threads[conversation]

    async def runs(self, conversation: str) -> Sequence[Run]:
        return tuple(self._find(conversation).runs)

    async def run(self, run: str) -> Run:
        return self._find_run(run)[1]

    async def checkpoints(self, conversation: str) -> AsyncIterator[Checkpoint]:
        return self._find(conversation).checkpoints()

    async def readiness(self) -> Readiness:
        model = "ok" if self.ready else "The model server does not answer. Start it."
        off = ", ".join(self._protections.names_off())
        checks = {
            "storage": "ok",
            "model": model,
            "tools": "ok",
            "recovery": "nothing to recover",
            "protections": f"off: {off}" if off else "all on",
        }
        return Readiness(ready=self.ready, checks=checks)

    async def drain(self) -> None:
        self._draining = True
        for thread in self.threads.values():
            if thread.live is not None:
                self._end(thread, RunStatus.INTERRUPTED)

    def proceed(self, conversation: str) -> None:
        """Play the conversation's run up to the next HOLD, or to its end."""
        thread = self._find(conversation)
        live = thread.live
        thread.proceed(self._now())
        self._announce(live)

    async def watched_by(self, viewers: int) -> None:
        """Return as soon as this many viewers follow the runs."""
        while self.viewers != viewers:
            await self._changed.wait()

    def _start(
        self, kind: RunKind, text: str | None, conversation: str | None, key: str | None
    ) -> Started:
        asked = (kind, text, conversation)
        if key is not None and key in self._keys:
            before, answer = self._keys[key]
            if before != asked:
                raise IdempotencyKeyReused
            return answer
        if self._draining:
            raise ShuttingDown
        now = self._now()
        thread = self._find(conversation) if conversation else ScriptedThread(text or "", now)
        _refuse_active(thread)
        if kind is RunKind.RESUME and thread.runs[-1].status is RunStatus.COMPLETED:
            raise RunNotResumable(conversation=conversation)
        self.threads[thread.conversation.id] = thread
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        run = thread.begin(kind, text, script, self.boot_id, now)
        started = Started(conversation=run.conversation_id, run=run.id)
        if key is not None:
            self._keys[key] = (asked, started)
        self.proceed(run.conversation_id)
        return started

    def _end(self, thread: ScriptedThread, status: RunStatus) -> None:
        live = thread.live
        thread.finish(status, self._now())
        self._announce(live)

    def _announce(self, live: LiveRun | None) -> None:
        if live is not None and live.over:
            self._last_ids[live.id] = live.sent[-1].id
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _follow(self, live: LiveRun, last_event_id: str | None) -> AsyncIterator[Sent]:
        self.viewers += 1
        self._wake()
        try:
            asked, _, number = (last_event_id or "").rpartition(":")
            known = asked == live.id and re.fullmatch("[0-9]{1,9}", number) is not None
            at = int(number) if known and int(number) <= len(live.sent) else 0
            if asked != live.id and _RUN.fullmatch(asked):
                yield Sent(event=Gap(), id=None)
            while at < len(live.sent) or not live.over:
                if at == len(live.sent):
                    await self._changed.wait()
                else:
                    at += 1
                    yield live.sent[at - 1]
        finally:
            self.viewers -= 1
            self._wake()

    def _find(self, conversation: str) -> ScriptedThread:
        if conversation not in self.threads:
            raise NotFound(conversation=conversation)
        return self.threads[conversation]

    def _find_run(self, run: str) -> tuple[ScriptedThread, Run]:
        for thread in self.threads.values():
            for row in thread.runs:
                if row.id == run:
                    return thread, row
        raise NotFound(run=run)

    def _now(self) -> str:
        self._ticks += 1
        moment = _EPOCH + timedelta(seconds=self._ticks)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _refuse_active(thread: ScriptedThread) -> None:
    if (active := thread.active) is not None:
        refusal = RunWaiting if active.status is RunStatus.WAITING else SessionInProgress
        raise refusal(conversation=active.conversation_id, run=active.id)


async def _once(sent: Sent) -> AsyncIterator[Sent]:
    yield sent
