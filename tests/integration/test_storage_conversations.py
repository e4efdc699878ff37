"""What a list of conversations shows, page by page, and what is left of a deleted one."""

from __future__ import annotations

import asyncio
import base64
import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_rows import EARLY, LATE, Store, make_run, open_store

from sophos.conversation import Conversation
from sophos.errors import BadRequest, NotFound, RunWaiting, SessionInProgress
from sophos.run import Run, RunStatus
from sophos.storage.connection import BUSY_TIMEOUT, fetch
from sophos.storage.conversations import _position


async def delete(store: Store, run: Run) -> None:
    await store.end(run)
    await store.conversations.mark_deleted(run.conversation_id, LATE)
    await store.conversations.purge(run.conversation_id)


async def walk(store: Store, limit: int) -> list[str]:
    seen: list[str] = []
    before = None
    while True:
        page, before = await store.conversations.page(limit, before)
        seen += [summary.conversation.id for summary in page]
        if before is None:
            return seen


@pytest.mark.parametrize("limit", [1, 3, 4, 7, 8])
def test_pages_hold_every_conversation_once_newest_first(tmp_path: Path, limit: int) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            # Equal times too: the id decides.
            starts = [EARLY, LATE, EARLY, LATE, EARLY, LATE, EARLY]
            runs = [await store.start(make_run(started_at=start)) for start in starts]
            order = sorted(((run.started_at, run.conversation_id) for run in runs), reverse=True)
            assert await walk(store, limit) == [conversation for _, conversation in order]

    asyncio.run(scenario())


def test_the_list_shows_the_outcome_of_the_newest_run(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            first = await store.start(make_run())
            await store.end(first, at=EARLY)
            second = await store.start(make_run(first.conversation_id))
            await store.end(
                second, RunStatus.FAILED, error_code="MODEL_FAILED", error_message="No."
            )
            [summary], following = await store.conversations.page(10, None)
            assert (summary.status, summary.error_code) == (RunStatus.FAILED, "MODEL_FAILED")
            assert (summary.error_message, following) == ("No.", None)

    asyncio.run(scenario())


def test_a_conversation_without_a_run_has_no_status(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            forked = Conversation(
                id=str(uuid4()), title="Fork", created_at=EARLY, updated_at=LATE, message_count=3
            )
            await store.conversations.create(forked)
            [summary], _ = await store.conversations.page(10, None)
            assert (summary.conversation, summary.status) == (forked, None)
            assert await store.conversations.get(forked.id) == forked

    asyncio.run(scenario())


@pytest.mark.parametrize("before", ["", "nonsense", "é", "AAAA", "\ud83d", "a" * 10_000, "=" * 8])
def test_a_cursor_that_no_page_gave_is_a_bad_request(tmp_path: Path, before: str) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            with pytest.raises(BadRequest):
                await store.conversations.page(10, before)

    asyncio.run(scenario())


@settings(max_examples=50)
@given(st.text() | st.binary().map(lambda text: base64.urlsafe_b64encode(text).decode()))
def test_whatever_stands_in_before_is_a_place_or_a_bad_request(before: str) -> None:
    with suppress(BadRequest):
        assert len(_position(before)) == 2


def test_a_deleted_conversation_is_gone_for_every_reader_and_frees_its_keys(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            run = await store.start(make_run(idempotency_key="key"))
            await store.end(run)
            await store.conversations.mark_deleted(run.conversation_id, LATE)
            assert await store.conversations.get(run.conversation_id) is None
            assert await store.conversations.page(10, None) == ([], None)
            assert await store.runs.get(run.id) is None
            assert await store.runs.of(run.conversation_id) == []
            with pytest.raises(NotFound):
                await store.runs.claim(run=make_run(run.conversation_id), title=None, body="")
            await store.start(make_run(idempotency_key="key"))

    asyncio.run(scenario())


def test_a_reader_delays_the_cut_of_the_log_and_not_the_deletion(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            runs = [await store.start(make_run(input="the heliotrope")) for _ in range(2)]
            log = store.database.path.with_name(store.database.path.name + "-wal")
            with closing(sqlite3.connect(store.database.path, isolation_level=None)) as other:
                other.execute("BEGIN")
                other.execute("SELECT * FROM runs").fetchall()
                await delete(store, runs[0])
                assert b"heliotrope" in log.read_bytes()
            await delete(store, runs[1])
            assert b"heliotrope" not in log.read_bytes() + store.database.path.read_bytes()
            [(timeout,)] = await fetch(store.database._writer, "PRAGMA busy_timeout")
            assert timeout == BUSY_TIMEOUT * 1000

    asyncio.run(scenario())


def test_what_was_moved_within_the_file_before_it_was_deleted_is_gone_too(tmp_path: Path) -> None:
    chance = random.Random(3)  # of eight that were tried, six left copies behind

    def drawn() -> str:
        return str(UUID(int=chance.getrandbits(128)))

    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            ids = [drawn() for _ in range(10)]
            for number in range(200):
                # In no order and of many sizes: SQLite makes room by moving rows to other pages.
                id_ = ids[number % len(ids)]
                text = f"the heliotrope of {id_} " + "and so on " * chance.randrange(60)
                run = make_run(id_, id=drawn(), input=text, idempotency_key=text + drawn())
                await store.end(await store.start(run))
            for id_ in ids:
                await store.conversations.mark_deleted(id_, LATE)
                await store.conversations.purge(id_)
                left = store.database.path.read_bytes()
                assert left.count(f"the heliotrope of {id_}".encode()) == 0

    asyncio.run(scenario())


def test_a_deletion_that_a_death_cut_short_is_listed_until_it_is_purged(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            run = await store.start(make_run())
            kept = await store.start(make_run())
            await store.end(run)
            await store.conversations.mark_deleted(run.conversation_id, LATE)
        async with open_store(tmp_path) as store:
            assert await store.conversations.deleted() == [run.conversation_id]
            await store.conversations.purge(run.conversation_id)
            await store.conversations.purge(kept.conversation_id)
            assert await store.conversations.deleted() == []
            rows = await store.database.read("SELECT id FROM conversations")
            assert [row["id"] for row in rows] == [kept.conversation_id]

    asyncio.run(scenario())


def test_a_conversation_with_an_active_run_is_not_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            run = await store.start(make_run())
            with pytest.raises(SessionInProgress):
                await store.conversations.mark_deleted(run.conversation_id, LATE)
            await store.end(run, RunStatus.WAITING)
            with pytest.raises(RunWaiting):
                await store.conversations.mark_deleted(run.conversation_id, LATE)
            assert await store.conversations.get(run.conversation_id) is not None

    asyncio.run(scenario())


def test_what_is_not_there_cannot_be_deleted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_store(tmp_path) as store:
            run = await store.start(make_run())
            await store.end(run)
            await store.conversations.mark_deleted(run.conversation_id, LATE)
            for gone in (run.conversation_id, str(uuid4())):
                with pytest.raises(NotFound):
                    await store.conversations.mark_deleted(gone, LATE)

    asyncio.run(scenario())
