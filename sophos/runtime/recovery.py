"""At start-up: every run a dead process left `running` is reconciled with its thread.

| the thread's newest checkpoint          | the run becomes                     |
|-----------------------------------------|-------------------------------------|
| any, and a cancel was on record         | cancelled: `Runs.finish` sees to it |
| is of this run, nothing pending         | completed                           |
| is of this run, a step pending          | interrupted                         |
| is of an older run, or there is none    | interrupted: its input is still owed |

Recovery never starts a run: a resume asks the model again and may repeat a tool, and that is a
person's decision. What it infers is valid because one file has one owner.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sophos.errors import StorageUnavailable
from sophos.protections import Protection, Protections
from sophos.run import Run, RunKind, RunStatus
from sophos.storage.checkpoints import Checkpoints
from sophos.storage.head import Head
from sophos.storage.record import Record
from sophos.storage.runs import Runs

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """What recovery did: how many runs became what, and which deletions it finished or could not."""

    completed: int = 0
    interrupted: int = 0
    cancelled: int = 0
    deletions: int = 0
    deletions_left: int = 0

    def sentence(self) -> str:
        left = f", {self.deletions_left} not: see the log" if self.deletions_left else ""
        return (
            f"{self.completed} completed, {self.interrupted} interrupted,"
            f" {self.cancelled} cancelled, {self.deletions} deletions finished{left}"
        )


async def recover(record: Record, *, protections: Protections, now: str) -> Recovered:
    """Reconcile what a dead process left; finish the deletions it did not."""
    conversations, runs, checkpoints = record.conversations, record.runs, record.checkpoints
    finished = [await _finish_deletion(record, gone) for gone in await conversations.deleted()]
    # One that was finished may have died before it had cut the log, or could not for a reader.
    await record.database.cut_log()
    outcomes: list[RunStatus] = []
    for run in await runs.unfinished():
        status = RunStatus.INTERRUPTED
        if protections.on(Protection.RECONCILE):
            status = await _reconciled(run, checkpoints)
        recorded = await runs.finish(
            run.id, status=status, error_code=None, error_message=None, message_count=None, at=now
        )
        outcomes.append(recorded.status if recorded else status)
    recovered = Recovered(
        completed=outcomes.count(RunStatus.COMPLETED),
        interrupted=outcomes.count(RunStatus.INTERRUPTED),
        cancelled=outcomes.count(RunStatus.CANCELLED),
        deletions=finished.count(True),
        deletions_left=finished.count(False),
    )
    logger.info("Recovery is done.", extra={"outcome": recovered.sentence()})
    return recovered


async def _finish_deletion(record: Record, conversation: str) -> bool:
    try:
        await record.checkpoints.adelete_thread(conversation)
        await record.conversations.purge(conversation)
    except StorageUnavailable:
        # Nobody sees it any more, and the next start tries again: no reason not to serve the others.
        logger.exception("A deletion could not be finished.", extra={"conversation": conversation})
        return False
    return True


async def _reconciled(run: Run, checkpoints: Checkpoints) -> RunStatus:
    try:
        return _outcome(run, await checkpoints.head(run.conversation_id))
    except StorageUnavailable:
        # One thread that cannot be read keeps nobody from the others: whoever opens it is told.
        logger.exception("A thread could not be read.", extra={"run": run.id})
        return _outcome(run, None)


def _outcome(run: Run, head: Head | None) -> RunStatus:
    if head is not None and head.run == run.id and not head.next:
        return RunStatus.COMPLETED
    return RunStatus.INTERRUPTED


async def owed_messages(
    runs: Runs, conversation: str, head: Head | None, protections: Protections
) -> Sequence[Run]:
    """The message runs whose input was accepted and never reached the thread, oldest first.

    They are the ones newer than the run that wrote the thread's newest checkpoint: each run
    gives the thread everything it is owed with its first checkpoint.
    """
    later = await runs.after(conversation, head.run if head is not None else None)
    messages = [run for run in later if run.kind is RunKind.MESSAGE]
    if protections.on(Protection.RECONCILE):
        return messages
    return [run for run in messages if run.status is RunStatus.RUNNING]


async def work_left(
    runs: Runs, conversation: str, head: Head | None, protections: Protections
) -> bool:
    """Whether there is anything to resume: a pending step, or an input that is still owed."""
    if head is not None and head.next:
        return True
    return bool(await owed_messages(runs, conversation, head, protections))
