"""At most one run is active, nothing leaves a final state, and a restart changes nothing.

That holds over any order of claims, ends, cancels, deletions and restarts.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from storage_rows import EARLY, LATE, make_run, open_store

from sophos.errors import IdempotencyKeyReused, NotFound, RunWaiting, SessionInProgress
from sophos.run import ACTIVE, TRANSITIONS, Run, RunStatus

Result = TypeVar("Result")
REFUSALS = {RunStatus.RUNNING: SessionInProgress, RunStatus.WAITING: RunWaiting}


class Record(RuleBasedStateMachine):
    """The database beside a plain model of it: every run by id, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.Runner()
        self.model: dict[str, Run] = {}
        self.bodies: dict[str, str] = {}
        self.ids = count()
        self.conversations: list[str] = [self.fresh_id()]
        self.open()

    def open(self) -> None:
        self.opened = AsyncExitStack()
        self.store = self.do(self.opened.enter_async_context(open_store(self.folder)))

    def fresh_id(self) -> str:
        # Not random: the same draws must lead to the same choices when a failure is replayed.
        return str(UUID(int=next(self.ids)))

    def do(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run(work)

    def active(self, conversation_id: str) -> list[Run]:
        return [run for run in self.of(conversation_id) if run.status in ACTIVE]

    def of(self, conversation_id: str) -> list[Run]:
        return [run for run in self.model.values() if run.conversation_id == conversation_id]

    @rule(
        title=st.booleans(),
        data=st.data(),
        key=st.sampled_from([None, "a", "b"]),
        body=st.sampled_from("xy"),
    )
    def claim(self, data: st.DataObject, title: bool, key: str | None, body: str) -> None:
        chosen = self.fresh_id() if title else data.draw(st.sampled_from(self.conversations))
        run = make_run(chosen, idempotency_key=key)
        claim = self.store.runs.claim(run=run, title="Hello" if title else None, body=body)
        first = next((known for known in self.model.values() if key == known.idempotency_key), None)
        if key is not None and first:
            if self.bodies[first.id] == body:
                assert self.do(claim).run == first
            else:
                self.refused(claim, IdempotencyKeyReused)
        elif not title and not self.of(chosen):
            self.refused(claim, NotFound)
        elif active := self.active(chosen):
            self.refused(claim, REFUSALS[active[0].status])
        else:
            assert self.do(claim).run == run
            self.model[run.id] = run
            self.bodies[run.id] = body
            self.conversations.append(chosen)

    def refused(self, work: Coroutine[Any, Any, object], refusal: type[Exception]) -> None:
        try:
            self.do(work)
        except refusal:
            return
        raise AssertionError(f"{refusal.__name__} was not raised")

    @precondition(lambda self: self.model)
    @rule(data=st.data(), status=st.sampled_from(RunStatus))
    def finish(self, data: st.DataObject, status: RunStatus) -> None:
        run = self.model[data.draw(st.sampled_from(list(self.model)))]
        allowed = status in TRANSITIONS[run.status]
        assert self.do(self.store.end(run, status)) == allowed
        if allowed:
            became = RunStatus.CANCELLED if run.cancel_requested_at else status
            finished_at = None if became in ACTIVE else LATE
            self.model[run.id] = replace(run, status=became, finished_at=finished_at)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), at=st.sampled_from([EARLY, LATE]))
    def cancel(self, data: st.DataObject, at: str) -> None:
        run = self.model[data.draw(st.sampled_from(list(self.model)))]
        cancelled = self.do(self.store.runs.request_cancel(run.id, at))
        if run.status in ACTIVE:
            run = replace(run, cancel_requested_at=run.cancel_requested_at or at)
            self.model[run.id] = run
            assert cancelled == run
        else:
            assert cancelled is None

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(self.conversations))
        deletion = self.store.conversations.mark_deleted(chosen, LATE)
        if not self.of(chosen):
            self.refused(deletion, NotFound)
        elif active := self.active(chosen):
            self.refused(deletion, REFUSALS[active[0].status])
        else:
            self.do(deletion)
            for run in self.of(chosen):
                del self.model[run.id]

    @rule()
    def restart(self) -> None:
        self.do(self.opened.aclose())
        self.open()

    @invariant()
    def the_record_is_the_model(self) -> None:
        for conversation_id in set(self.conversations):
            assert self.do(self.store.runs.of(conversation_id)) == self.of(conversation_id)
            assert len(self.active(conversation_id)) <= 1
        running = [run for run in self.model.values() if run.status is RunStatus.RUNNING]
        assert self.do(self.store.runs.unfinished()) == running

    def teardown(self) -> None:
        self.do(self.opened.aclose())
        self.loop.close()
        shutil.rmtree(self.folder)


TestRecord = Record.TestCase
TestRecord.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
