"""All that a browser may ask of the runtime, in plain values. Keeps no state of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from sophos.conversation import Checkpoint, Conversation, title_of
from sophos.errors import (
    NotFound,
    RunNotActive,
    RunNotResumable,
    RunWaiting,
    SessionInProgress,
    StorageUnavailable,
)
from sophos.events import Sent
from sophos.failpoints import Failpoints, Point
from sophos.run import ACTIVE, Run, RunKind, RunStatus
from sophos.runtime.answers import ConversationView, Page, Readiness, Started
from sophos.runtime.recovery import Recovered, owed_messages, work_left
from sophos.runtime.registry import Registry
from sophos.settings import Settings
from sophos.storage.record import Record

if TYPE_CHECKING:
    # Importing LangGraph takes a second; the port answers before that (runtime/lifecycle.py).
    from sophos.agent.graph import Agent


@dataclass(frozen=True, kw_only=True)
class Runtime:
    """What `open_runtime` hands out. Every error is a SophosError."""

    settings: Settings
    boot_id: str
    record: Record
    registry: Registry
    agent: Callable[[], Awaitable[Agent]]
    recovered: Recovered
    failpoints: Failpoints
    now: Callable[[], str]

    async def start_message(
        self, text: str, *, conversation: str | None, key: str | None
    ) -> Started:
        """Raises NotFound, SessionInProgress, RunWaiting, IdempotencyKeyReused, ShuttingDown."""
        run = self._new_run(conversation or str(uuid4()), kind=RunKind.MESSAGE, text=text, key=key)
        body = json.dumps({"message": text, "conversation": conversation})
        title = title_of(text) if conversation is None else None
        claim = await self.registry.start(run=run, title=title, body=body)
        return Started(conversation=claim.run.conversation_id, run=claim.run.id)

    async def start_resume(self, *, conversation: str, key: str | None) -> Started:
        """As `start_message`, and RunNotResumable."""
        body = json.dumps({"resume": True, "conversation": conversation})
        await self._existing(conversation)
        await self.registry.settle(conversation)
        newest = await self.record.runs.latest(conversation)
        busy = newest is not None and newest.status in ACTIVE
        left = newest is not None and not busy and await self._work_left(conversation)
        # After the look and not before: what is in the way may be the first one with the same key.
        if (repeated := await self.record.runs.repeated(key, body)) is not None:
            return Started(conversation=repeated.conversation_id, run=repeated.id)
        # Refused here and not by the claim: the run may end before that, and leave nothing to do.
        if newest is not None and busy:
            refusal = RunWaiting if newest.status is RunStatus.WAITING else SessionInProgress
            raise refusal(conversation=conversation, run=newest.id)
        if newest is None or not left:
            raise RunNotResumable(conversation=conversation)
        run = self._new_run(conversation, kind=RunKind.RESUME, key=key, resumes=newest)
        claim = await self.registry.start(run=run, title=None, body=body)
        return Started(conversation=conversation, run=claim.run.id)

    async def cancel(self, run: str) -> Run:
        """Put the request on record, then stop the run. Raises NotFound, RunNotActive."""
        await self.run(run)
        requested = await self.record.runs.request_cancel(run, self.now())
        if requested is None:
            raise RunNotActive(run=run)
        if self.failpoints.armed:
            self.failpoints.hit(Point.CANCEL_RECORDED)
        if not self.registry.cancel(requested) and requested.status is RunStatus.WAITING:
            await self.record.runs.finish(
                run,
                status=RunStatus.CANCELLED,
                error_code=None,
                error_message=None,
                message_count=None,
                at=self.now(),
            )
        return requested

    async def subscribe(
        self, conversation: str, *, run: str | None, last_event_id: str | None
    ) -> AsyncIterator[Sent] | None:
        """Events for one viewer, ending with the run's end; None if it has had the last one.

        Raises NotFound before anything is sent.
        """
        await self._existing(conversation)
        newest = await self._watched(conversation, run)
        if newest.status is RunStatus.RUNNING and not self.registry.alive(newest):
            # Its row was read before it was registered, or before it ended.
            await self.registry.claimed(conversation)
            if not self.registry.alive(newest):
                newest = await self._watched(conversation, newest.id)
        return await self.registry.subscribe(
            conversation, newest=newest, last_event_id=last_event_id
        )

    async def conversations(self, *, limit: int, before: str | None) -> Page:
        """Newest first. Raises BadRequest if `before` is not the `next` of a page."""
        page, following = await self.record.conversations.page(limit, before)
        return Page(conversations=page, next=following)

    async def conversation(self, conversation: str) -> ConversationView:
        found = await self._existing(conversation)
        newest = await self.record.runs.latest(conversation)
        active = newest if newest is not None and newest.status in ACTIVE else None
        # What is owed before the messages: a run may save its input in between, and a message must
        # not be in neither. In both it is told once, by the record.
        head = await self.record.checkpoints.head(conversation)
        pending = head.next if head is not None else ()
        owed = await owed_messages(self.record.runs, conversation, head, self.settings.protections)
        messages = await (await self.agent()).messages(conversation)
        told = {message.id for message in messages}
        owed = [run for run in owed if run.id not in told]
        latest = await self.record.runs.latest(conversation)
        if latest is not None and (newest is None or latest.id != newest.id):
            # It came meanwhile: what it found and what it made are mixed above. Nothing is left to
            # a person as long as it works, and whoever follows it is told of its end.
            active = latest
        return ConversationView(
            conversation=found,
            messages=messages,
            resumable=active is None and bool(pending or owed),
            next=pending,
            owed=[run.id for run in owed],
            active_run=active.id if active else None,
            pending_decision=None,
        )

    async def delete_conversation(self, conversation: str) -> None:
        """Remove every row of the conversation, for good. Raises NotFound, SessionInProgress.

        One that failed between its halves can be asked for again, and goes on.
        """
        if conversation not in await self.record.conversations.deleted():
            await self.record.conversations.mark_deleted(conversation, self.now())
        await self.record.checkpoints.adelete_thread(conversation)
        await self.record.conversations.purge(conversation)

    async def runs(self, conversation: str) -> Sequence[Run]:
        """Every attempt, oldest first."""
        await self._existing(conversation)
        return await self.record.runs.of(conversation)

    async def run(self, run: str) -> Run:
        found = await self.record.runs.get(run)
        if found is None:
            raise NotFound(run=run)
        return found

    async def checkpoints(self, conversation: str) -> AsyncIterator[Checkpoint]:
        """Oldest first. Raises NotFound before the first one."""
        await self._existing(conversation)
        agent = await self.agent()
        return agent.checkpoints(self.record.checkpoints.history(conversation))

    async def readiness(self) -> Readiness:
        """Whether a message would get an answer now, as far as can be told without asking."""
        storage = await self._storage_trouble()
        agent = await self.agent()
        model, troubles = await agent.probe(), agent.tool_troubles()
        off = ", ".join(self.settings.protections.names_off())
        checks = {
            "storage": storage or "ok",
            "model": model or "ok",
            "tools": "; ".join(f"{name}: {why}" for name, why in troubles.items()) or "ok",
            "recovery": self.recovered.sentence(),
            "protections": f"off: {off}" if off else "all on",
        }
        return Readiness(ready=not (storage or model or troubles), checks=checks)

    async def drain(self) -> None:
        """Refuse new runs, let the active ones reach a step boundary, end every stream."""
        await self.registry.drain(self.settings.shutdown_grace)

    async def _storage_trouble(self) -> str | None:
        try:
            # A full disk can still be read, and so can a file that was deleted while it was open.
            await self.record.database.prove_writable()
        except StorageUnavailable as error:
            return error.message
        return None

    async def _existing(self, conversation: str) -> Conversation:
        found = await self.record.conversations.get(conversation)
        if found is None:
            raise NotFound(conversation=conversation)
        return found

    async def _watched(self, conversation: str, run: str | None) -> Run:
        if run is None:
            found = await self.record.runs.latest(conversation)
        else:
            found = await self.record.runs.get(run)
        if found is None or found.conversation_id != conversation:
            raise NotFound(conversation=conversation, run=run)
        return found

    async def _work_left(self, conversation: str) -> bool:
        head = await self.record.checkpoints.head(conversation)
        return await work_left(self.record.runs, conversation, head, self.settings.protections)

    def _new_run(
        self,
        conversation: str,
        *,
        kind: RunKind,
        key: str | None,
        text: str | None = None,
        resumes: Run | None = None,
    ) -> Run:
        return Run(
            id=str(uuid4()),
            conversation_id=conversation,
            kind=kind,
            input=text,
            resume_of=resumes.id if resumes else None,
            status=RunStatus.RUNNING,
            error_code=None,
            error_message=None,
            cancel_requested_at=None,
            idempotency_key=key,
            owner=self.boot_id,
            attempt=resumes.attempt + 1 if resumes else 1,
            started_at=self.now(),
            finished_at=None,
        )
