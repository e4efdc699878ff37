"""What may be claimed, how a run ends, and which runs a reader is given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from storage_rows import EARLY, LATE, Store, make_run, open_store

from sophos.errors import IdempotencyKeyReused, NotFound, RunWaiting, SessionInProgress
from sophos.run import RunKind, RunStatus

Scenario = Callable[[Store], Awaitable[None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Scenario], None]:
    async def opened(scenario: Scenario) -> None:
        async with open_store(tmp_path) as store:
            await scenario(store)

    return lambda scenario: asyncio.run(opened(scenario))


Play = Callable[[Scenario], None]


def test_a_claim_records_the_run_and_its_conversation(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = make_run()
        claim = await store.runs.claim(run=run, title="Owls", body="")
        conversation = await store.conversations.get(run.conversation_id)
        assert (claim.run, claim.repeated) == (run, False)
        assert await store.runs.get(run.id) == run
        assert conversation
        assert (conversation.title, conversation.created_at) == ("Owls", EARLY)
        assert (conversation.updated_at, conversation.message_count) == (EARLY, None)

    play(scenario)


def test_the_same_key_with_the_same_body_gives_the_first_run(play: Play) -> None:
    async def scenario(store: Store) -> None:
        first, again = make_run(idempotency_key="key"), make_run(idempotency_key="key")
        await store.runs.claim(run=first, title="Owls", body="body")
        await store.end(first)
        claim = await store.runs.claim(run=again, title="Owls", body="body")
        assert (claim.run.id, claim.run.status) == (first.id, RunStatus.COMPLETED)
        assert claim.repeated
        assert await store.conversations.get(again.conversation_id) is None

    play(scenario)


def test_the_same_key_with_another_body_is_refused(play: Play) -> None:
    async def scenario(store: Store) -> None:
        first = make_run(idempotency_key="key")
        await store.runs.claim(run=first, title="Owls", body="one")
        with pytest.raises(IdempotencyKeyReused):
            await store.runs.claim(run=make_run(idempotency_key="key"), title="Owls", body="two")
        assert await store.runs.unfinished() == [first]

    play(scenario)


def test_the_same_key_twice_at_once_starts_one_run(play: Play) -> None:
    async def scenario(store: Store) -> None:
        runs = [make_run(idempotency_key="key") for _ in range(10)]
        claims = await asyncio.gather(
            *(store.runs.claim(run=run, title="Owls", body="body") for run in runs)
        )
        assert len({claim.run.id for claim in claims}) == 1
        assert [claim.repeated for claim in claims].count(False) == 1

    play(scenario)


def test_of_claims_at_once_on_one_conversation_one_wins(play: Play) -> None:
    async def scenario(store: Store) -> None:
        first = await store.start(make_run())
        await store.end(first)
        further = [make_run(first.conversation_id) for _ in range(10)]
        results = await asyncio.gather(
            *(store.runs.claim(run=run, title=None, body="") for run in further),
            return_exceptions=True,
        )
        refused = [result for result in results if isinstance(result, SessionInProgress)]
        [active] = await store.runs.unfinished()
        assert len(refused) == 9
        assert {error.run for error in refused} == {active.id}

    play(scenario)


def test_the_index_refuses_a_second_active_run_from_another_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with (
            open_store(tmp_path) as one,
            open_store(tmp_path, single_owner=False) as two,
        ):
            run = await one.start(make_run())
            with pytest.raises(SessionInProgress):
                await two.start(make_run(run.conversation_id))

    asyncio.run(scenario())


def test_a_refused_claim_leaves_the_conversation_as_it_was(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = await store.start(make_run())
        before = await store.conversations.get(run.conversation_id)
        with pytest.raises(SessionInProgress):
            await store.start(make_run(run.conversation_id, started_at=LATE))
        assert await store.conversations.get(run.conversation_id) == before

    play(scenario)


def test_a_waiting_run_refuses_another_claim_until_it_is_closed(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = await store.start(make_run())
        assert await store.end(run, RunStatus.WAITING)
        waiting = await store.runs.get(run.id)
        assert waiting == replace(run, status=RunStatus.WAITING)
        with pytest.raises(RunWaiting):
            await store.start(make_run(run.conversation_id))
        assert await store.end(run, RunStatus.COMPLETED)
        await store.start(make_run(run.conversation_id, kind=RunKind.DECISION))

    play(scenario)


def test_a_resume_is_refused_if_another_run_came_and_went_since_it_looked(play: Play) -> None:
    async def scenario(store: Store) -> None:
        broken = await store.start(make_run())
        await store.end(broken, RunStatus.INTERRUPTED)
        resumes = {"kind": RunKind.RESUME, "resume_of": broken.id}
        first, late = (make_run(broken.conversation_id, **resumes) for _ in range(2))
        await store.start(first)
        await store.end(first)
        with pytest.raises(SessionInProgress) as refused:
            await store.start(late)
        assert refused.value.run == first.id
        assert await store.runs.latest(broken.conversation_id) != late

    play(scenario)


def test_an_unknown_conversation_is_not_found(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = make_run()
        with pytest.raises(NotFound):
            await store.runs.claim(run=run, title=None, body="")
        assert await store.runs.get(run.id) is None

    play(scenario)


def test_an_outcome_and_the_message_count_are_recorded_together(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = await store.start(make_run())
        outcome = {"error_code": "MODEL_FAILED", "error_message": "half \ud83d of a pair"}
        assert await store.end(run, RunStatus.FAILED, message_count=7, **outcome)
        ended = await store.runs.get(run.id)
        conversation = await store.conversations.get(run.conversation_id)
        assert ended
        assert conversation
        assert (ended.status, ended.error_code) == (RunStatus.FAILED, "MODEL_FAILED")
        assert (ended.error_message, ended.finished_at) == ("half ? of a pair", LATE)
        assert (conversation.message_count, conversation.updated_at) == (7, LATE)

    play(scenario)


def test_a_message_count_is_told_from_when_it_is_known(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = await store.start(make_run())

        async def told() -> int | None:
            [listed] = (await store.conversations.page(1, None))[0]
            return listed.conversation.message_count

        assert await told() is None
        await store.end(run, RunStatus.INTERRUPTED, message_count=None)
        assert await told() is None  # as recovery leaves it, until the thread is counted
        await store.conversations.recount(run.conversation_id, 3)
        assert await told() == 3

    play(scenario)


def test_what_has_ended_stays_as_it_ended(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = await store.start(make_run())
        await store.end(run, RunStatus.COMPLETED, message_count=2)
        before = await store.runs.get(run.id), await store.conversations.get(run.conversation_id)
        for status in RunStatus:
            assert not await store.end(run, status, message_count=9)
        assert await store.runs.request_cancel(run.id, LATE) is None
        after = await store.runs.get(run.id), await store.conversations.get(run.conversation_id)
        assert after == before

    play(scenario)


def test_the_first_request_to_cancel_is_the_one_on_record(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = await store.start(make_run())
        first = await store.runs.request_cancel(run.id, EARLY)
        assert first == replace(run, cancel_requested_at=EARLY)
        assert await store.runs.request_cancel(run.id, LATE) == first
        assert await store.runs.request_cancel(str(uuid4()), LATE) is None

    play(scenario)


def test_runs_are_in_the_order_of_their_claims_when_the_clock_goes_backwards(play: Play) -> None:
    async def scenario(store: Store) -> None:
        first = await store.start(make_run(started_at=LATE))
        await store.end(first, at=LATE)
        second = await store.start(make_run(first.conversation_id, started_at=EARLY))
        conversation = await store.conversations.get(first.conversation_id)
        assert [run.id for run in await store.runs.of(first.conversation_id)] == [
            first.id,
            second.id,
        ]
        assert await store.runs.latest(first.conversation_id) == second
        assert conversation
        assert conversation.updated_at == LATE

    play(scenario)


def test_after_gives_the_newer_runs_of_the_same_conversation(play: Play) -> None:
    async def scenario(store: Store) -> None:
        conversation_id, started = str(uuid4()), []
        for kind in ("message", "resume", "message"):
            run = await store.start(make_run(conversation_id, kind=RunKind(kind)))
            await store.end(run, RunStatus.INTERRUPTED)
            started.append(run.id)
        other = await store.start(make_run())
        for asked, expected in ((started[0], started[1:]), (None, started), (other.id, started)):
            found = await store.runs.after(conversation_id, asked)
            assert [run.id for run in found] == expected

    play(scenario)


def test_a_run_whose_cancel_is_on_record_ends_as_cancelled(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = await store.start(make_run())
        await store.runs.request_cancel(run.id, LATE)
        ended = await store.runs.finish(
            run.id,
            status=RunStatus.FAILED,
            error_code="MODEL_FAILED",
            error_message="It broke.",
            message_count=1,
            at=LATE,
        )
        assert ended
        assert (ended.status, ended.error_code) == (RunStatus.CANCELLED, None)

    play(scenario)


def test_a_key_stands_for_the_run_it_started(play: Play) -> None:
    async def scenario(store: Store) -> None:
        run = make_run(idempotency_key="key")
        await store.runs.claim(run=run, title="Hello", body="a")
        assert await store.runs.repeated("key", "a") == run
        assert await store.runs.repeated("other", "a") is None
        with pytest.raises(IdempotencyKeyReused):
            await store.runs.repeated("key", "b")

    play(scenario)


def test_unfinished_are_the_running_ones_of_every_owner(play: Play) -> None:
    async def scenario(store: Store) -> None:
        running = [await store.start(make_run(owner=owner)) for owner in ("boot-1", "boot-2")]
        waiting = await store.start(make_run())
        await store.end(waiting, RunStatus.WAITING)
        ended = await store.start(make_run())
        await store.end(ended)
        assert await store.runs.unfinished() == running

    play(scenario)
