"""One run from start to outcome: record, then announce.

The graph is driven in a task of its own, so that stopping it never stops the recording of what
became of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sophos.errors import (
    AgentFailure,
    AttemptsExhausted,
    RecordDamaged,
    SophosError,
    StorageUnavailable,
)
from sophos.events import ChatError, End, RunEvent, Trace, TraceEvent
from sophos.failpoints import Failpoints, Point
from sophos.protections import Protection, Protections
from sophos.run import Run, RunKind, RunStatus
from sophos.runtime.event_log import EventLog
from sophos.runtime.recovery import owed_messages
from sophos.storage.checkpoints import Checkpoints
from sophos.storage.head import Head
from sophos.storage.runs import Runs

if TYPE_CHECKING:
    # Importing LangGraph takes a second; the port answers before that (runtime/lifecycle.py).
    from langgraph.runtime import RunControl

    from sophos.agent.graph import Agent

logger = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class ActiveRun:
    """A run alive in this process: its events, the task that drives it, and how to stop it."""

    run: Run
    log: EventLog
    driving: asyncio.Task[int | None] | None = None
    control: RunControl | None = None
    stop_requested: bool = False
    cancel_requested: bool = False
    drain_requested: bool = False

    def stop(self) -> None:
        """Stop now, once. Whether that makes it cancelled or interrupted, `cancel_requested` says."""
        if self.stop_requested:
            return  # a second one would break into the cleaning up after the first
        self.stop_requested = True
        if self.driving is not None:
            self.driving.cancel()

    def drain(self) -> None:
        """Stop at the next step boundary."""
        self.drain_requested = True
        if self.control is not None:
            self.control.request_drain()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended."""

    status: RunStatus
    error: SophosError | None = None
    message_count: int | None = None
    """Of the thread, where the drive that ended told it."""


@dataclass(frozen=True, kw_only=True)
class Executor:
    """Executes runs. Everything it holds belongs to someone else."""

    runs: Runs
    checkpoints: Checkpoints
    agent: Callable[[], Awaitable[Agent]]
    failpoints: Failpoints
    protections: Protections
    max_attempts: int
    now: Callable[[], str]

    async def execute(self, active: ActiveRun) -> Outcome | None:
        """Drive the run, record its outcome, announce it.

        None if the outcome is on record; otherwise the outcome, which is still to be recorded. A
        viewer was told of that as an error.
        """
        active.driving = asyncio.create_task(self._drive(active), name=f"drive {active.run.id}")
        if active.stop_requested:
            active.driving.cancel()
        await asyncio.wait([active.driving])
        outcome = await self._outcome(active, active.driving)
        try:
            run = await self.record(active.run, outcome)
        except StorageUnavailable as error:
            logger.exception("An outcome could not be recorded.", extra={"run": active.run.id})
            told = Outcome(status=RunStatus.FAILED, error=error)
            active.log.publish(announcement(active.run, told))
            return outcome
        if self.failpoints.armed:
            self.failpoints.hit(Point.OUTCOME_RECORDED)
        active.log.publish(announcement(run, Outcome(status=run.status, error=outcome.error)))
        if self.failpoints.armed:
            self.failpoints.hit(Point.END_ANNOUNCED)
        return None

    async def record(self, run: Run, outcome: Outcome) -> Run:
        """Put the outcome on record with the thread's message count; the row as it then is."""
        messages = outcome.message_count
        if messages is None:
            messages = await self._message_count(run.conversation_id)
        recorded = await self.runs.finish(
            run.id,
            status=outcome.status,
            error_code=outcome.error.code if outcome.error else None,
            error_message=outcome.error.message if outcome.error else None,
            message_count=messages,
            at=self.now(),
        )
        # Another process may have ended it, where one file is let have two owners.
        return recorded or await self.runs.get(run.id) or run

    async def _drive(self, active: ActiveRun) -> int | None:
        run = active.run
        if self.failpoints.armed:
            self.failpoints.hit(Point.RUN_RECORDED)
        if run.attempt > self.max_attempts:
            raise AttemptsExhausted(
                f"This work was attempted {self.max_attempts} times in a row without success."
                " Send a new message to go on."
            )
        head = await self.checkpoints.head(run.conversation_id)
        if run.kind is RunKind.RESUME:
            active.log.publish(_resumes(head))
        owed = await owed_messages(self.runs, run.conversation_id, head, self.protections)
        agent = await self.agent()
        narrator = agent.narrator(active.log.publish)
        active.control = agent.control()
        if active.drain_requested:
            active.control.request_drain()
        try:
            with self.checkpoints.observed(run.conversation_id, narrator):
                messages = await agent.drive(
                    thread=run.conversation_id,
                    run=run.id,
                    owed=[(owing.id, owing.input or "") for owing in owed],
                    narrator=narrator,
                    control=active.control,
                )
        except asyncio.CancelledError:
            for name in narrator.open_calls:
                narrator.note(0, "tools", f"{name} was told to stop and may still finish.")
            raise
        if self.failpoints.armed:
            self.failpoints.hit(Point.GRAPH_FINISHED)
        return messages

    async def _outcome(self, active: ActiveRun, driving: asyncio.Task[int | None]) -> Outcome:
        if driving.cancelled():
            if active.cancel_requested:
                return Outcome(status=RunStatus.CANCELLED)
            if not self.protections.on(Protection.DRAIN):
                return Outcome(
                    status=RunStatus.FAILED,
                    error=AgentFailure("The process was asked to stop while the run went on."),
                )
            return Outcome(status=RunStatus.INTERRUPTED)
        error = driving.exception()
        if error is None:
            messages = driving.result()
            status = RunStatus.INTERRUPTED if messages is None else RunStatus.COMPLETED
            return Outcome(status=status, message_count=messages)
        if isinstance(error, SophosError):
            return Outcome(status=RunStatus.FAILED, error=error)
        # The edge of a run: whatever was not foreseen ends this run and no other.
        logger.error("A run failed unforeseen.", extra={"run": active.run.id}, exc_info=error)
        damage = await self._damage(active.run.conversation_id)
        return Outcome(status=RunStatus.FAILED, error=damage or AgentFailure())

    async def _damage(self, thread: str) -> RecordDamaged | None:
        """What is wrong with the thread itself, which a library may have said in words of its own."""
        try:
            await (await self.agent()).messages(thread)
        except RecordDamaged as error:
            return error
        except SophosError:
            pass  # then what failed the run is no stranger than this
        return None

    async def _message_count(self, thread: str) -> int | None:
        try:
            return len(await (await self.agent()).messages(thread))
        except Exception:
            # The count is of use in a list only: whatever a thread that cannot be read raises, the
            # outcome is recorded, and no run stays `running` for it.
            logger.warning(
                "A thread could not be counted.", extra={"conversation": thread}, exc_info=True
            )
            return None


def _resumes(head: Head | None) -> Trace:
    # A saved input that was not applied is the agent's to answer, as is one that is still owed.
    node = "tools" if head is not None and "tools" in head.next else "agent"
    step = head.step + 1 if head is not None else 0
    return Trace(
        step=step,
        node=node,
        event=TraceEvent.RESUME,
        event_name=node,
        details={"supersedes_step": step},
    )


def announcement(run: Run, outcome: Outcome) -> RunEvent:
    """The last event of a run that ended so."""
    if outcome.status is RunStatus.FAILED and outcome.error is not None:
        return ChatError(
            conversation=run.conversation_id,
            run=run.id,
            code=outcome.error.code,
            message=outcome.error.message,
        )
    return End(conversation=run.conversation_id, run=run.id, status=outcome.status)
