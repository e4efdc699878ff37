"""Each protection, on and off: what it promises holds with it and does not hold without it."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any, Final

import pytest
from runtime_parts import (
    House,
    check_history,
    ending,
    only_conversation,
    outcome,
    resume,
    scenario,
    told,
    traces,
    watch,
)
from runtime_parts import say as send
from toolboxes import facts
from victims import kill_at

from lab.facts import until
from lab.model.script import call, cut, say, think
from lab.standstill import standstill
from sophos.errors import StartupError
from sophos.events import TraceEvent
from sophos.protections import Protection, Protections
from sophos.run import RunStatus

CALLS: Final[Any] = [think("Both."), call("lab__add", text="one"), call("lab__set", text="two")]
ANSWER: Final[Any] = [think("That is all."), say("Both are done.")]
TURNS: Final = 8  # messages of a thread whose growth is measured, and then as many again

both_ways = pytest.mark.parametrize("on", [True, False], ids=["on", "off"])


def only(protection: Protection, *, on: bool, without: tuple[Protection, ...] = ()) -> Protections:
    """All on but `without`, and this one as it is wanted."""
    return Protections.without(*without, *(() if on else (protection,)))


async def resumed(house: House, protections: Protections) -> list[tuple[str, str]]:
    """What the record says after the restart; the run is resumed to its end behind that."""
    async with house.open("again", protections=protections) as runtime:
        conversation = await only_conversation(runtime)
        found = await told(runtime, conversation)
        run = await outcome(runtime, await resume(runtime, conversation))
        assert run.status is RunStatus.COMPLETED
        return found


@both_ways
def test_sync_durability_keeps_the_steps_that_were_streamed(house: House, on: bool) -> None:
    protections = only(Protection.SYNC_DURABILITY, on=on)
    house.model.script([CALLS, ANSWER])
    left = kill_at(house, "agent.asking(3)", text="Do both", protections=protections)
    assert sorted(left.told_results) == ["lab__add", "lab__set"]
    house.model.script([ANSWER] if on else [CALLS, ANSWER])
    found = asyncio.run(resumed(house, protections))
    assert [role for role, _ in found[1:]] == (["assistant", "tool", "tool"] if on else [])
    assert sorted(house.effects) == ["add", "set"] if on else ["add", "add", "set", "set"]


@both_ways
def test_step_waits_for_the_disk_before_anything_is_done_in_the_next(
    house: House, on: bool
) -> None:
    house.model.script([CALLS, ANSWER])
    house.model.hold(1)

    async def work() -> None:
        async with house.open(protections=only(Protection.STEP_WAITS, on=on)) as runtime:
            started = await send(runtime, "Do both")
            await asyncio.to_thread(house.model.wait_held)
            await asyncio.to_thread(until, lambda: checkpoints(house) == 2, what="the input saved")
            with standstill(house.database):
                house.model.release()
                if not on:  # both are done while nothing of their step can be on disk
                    await asyncio.to_thread(until, lambda: len(house.effects) == 2, what="both")
            events = await watch(runtime, started.conversation, run=started.run)
            order = [each.event for each in traces(events, TraceEvent.LEAVE, TraceEvent.CALL)]
            first = TraceEvent.LEAVE if on else TraceEvent.CALL
            assert order[0] is first

    scenario(work())


@both_ways
def test_write_barrier_has_finished_work_on_disk_before_its_checkpoint(
    house: House, on: bool
) -> None:
    # With deltas the library waits by itself, so they are off either way.
    without = (Protection.DELTA_CHECKPOINTS,)
    protections = only(Protection.WRITE_BARRIER, on=on, without=without)
    house.model.script([CALLS, ANSWER])
    kill_at(house, "step.saving(2)", text="Do both", protections=protections)
    house.model.script([ANSWER])
    asyncio.run(resumed(house, protections))
    assert house.effects[:2] == ["add", "set"]
    assert (house.effects[2:] == []) == on


@both_ways
def test_call_tasks_keep_what_a_failing_call_s_siblings_finished(house: House, on: bool) -> None:
    protections = only(Protection.CALL_TASKS, on=on)
    failing = house.failpoint("tool.returned(lab__set)=raise")
    house.model.script([CALLS, ANSWER])

    async def work() -> None:
        async with house.open(protections=protections, failpoints=failing) as runtime:
            failed = await outcome(runtime, await send(runtime, "Do both"))
            assert failed.status is RunStatus.FAILED
        await resumed(house, protections)

    scenario(work())
    assert house.effects.count("set") == 2  # its result was lost: the open window
    assert house.effects.count("add") == (1 if on else 2)


@both_ways
def test_idempotency_key_is_the_same_when_a_call_is_repeated(house: House, on: bool) -> None:
    protections = only(Protection.IDEMPOTENCY_KEY, on=on)
    house.model.script([[call("lab__once", text="one")], ANSWER])
    kill_at(house, "tool.returned", text="Do it once", protections=protections)
    house.model.script([ANSWER])
    asyncio.run(resumed(house, protections))
    keys = [fact["key"] for fact in facts(house.journal) if "done" in fact]
    assert len(keys) == 2
    assert len(set(keys)) == (1 if on else 2)


@both_ways
def test_history_repair_answers_every_call_the_model_is_sent(house: House, on: bool) -> None:
    house.model.script([CALLS, [say("Hm.")]])
    kill_at(house, "step.saved(1)", text="Do both")

    async def work() -> None:
        protections = only(Protection.HISTORY_REPAIR, on=on)
        async with house.open(protections=protections) as runtime:
            conversation = await only_conversation(runtime)
            await outcome(runtime, await send(runtime, "Never mind", conversation))

    scenario(work())
    sent = house.model.requests()[-1]["body"]["messages"]
    assert [message["role"] for message in sent].count("tool") == (2 if on else 0)
    with nullcontext() if on else pytest.raises(AssertionError):
        check_history(sent)


@both_ways
def test_reconcile_completes_a_run_that_had_nothing_left_to_do(house: House, on: bool) -> None:
    house.model.script([CALLS, ANSWER])
    kill_at(house, "graph.finished", text="Do both")

    async def work() -> None:
        protections = only(Protection.RECONCILE, on=on)
        async with house.open(protections=protections) as runtime:
            conversation = await only_conversation(runtime)
            assert not (await runtime.conversation(conversation)).resumable

    scenario(work())
    assert house.statuses() == ["completed" if on else "interrupted"]


@both_ways
def test_reconcile_keeps_a_message_that_never_reached_its_thread(house: House, on: bool) -> None:
    kill_at(house, "run.recorded", text="First")
    house.model.script([[say("Heard.")]])

    async def work() -> None:
        protections = only(Protection.RECONCILE, on=on)
        async with house.open(protections=protections) as runtime:
            conversation = await only_conversation(runtime)
            await outcome(runtime, await send(runtime, "Second", conversation))
            said = [text for role, text in await told(runtime, conversation) if role == "user"]
            assert said == (["First", "Second"] if on else ["Second"])

    scenario(work())


@both_ways
def test_drain_lets_a_run_reach_its_step_boundary(house: House, on: bool) -> None:
    house.model.script([CALLS])
    house.model.hold(1)

    async def work() -> None:
        protections = only(Protection.DRAIN, on=on)
        async with house.open(protections=protections) as runtime:
            started = await send(runtime, "Do both")
            await asyncio.to_thread(house.model.wait_held)
            draining = asyncio.create_task(runtime.drain())
            await asyncio.sleep(0)  # lets it begin: the request to stop comes before the reply
            house.model.release()
            await draining
            run = await runtime.run(started.run)
            assert run.status is (RunStatus.INTERRUPTED if on else RunStatus.FAILED)
            assert len(await told(runtime, started.conversation)) == (2 if on else 1)

    scenario(work())


@both_ways
def test_reconnect_starts_a_server_that_died_again(house: House, on: bool) -> None:
    dies: Any = call("lab__add", then="die once")
    house.model.script([[dies], [say("It died.")], [call("lab__add")], [say("It works.")]])

    async def work() -> None:
        async with house.open(protections=only(Protection.RECONNECT, on=on)) as runtime:
            outcomes = []
            for text in ("Add", "Add again", "And again"):
                run = await outcome(runtime, await send(runtime, text))
                outcomes.append(run.error_code)
        lost = None if on else "TOOLS_UNAVAILABLE"
        assert outcomes[1:] == [lost, lost]

    scenario(work())


@both_ways
def test_single_owner_keeps_a_second_server_from_live_runs(house: House, on: bool) -> None:
    protections = only(Protection.SINGLE_OWNER, on=on)
    house.model.script([[say("Still here.")]])
    house.model.hold(1)

    async def work() -> None:
        async with house.open("first", protections=protections) as runtime:
            started = await send(runtime, "Stay")
            await asyncio.to_thread(house.model.wait_held)
            with pytest.raises(StartupError) if on else nullcontext():
                async with house.open("second", protections=protections):
                    pass
            assert house.statuses() == ["running" if on else "interrupted"]
            house.model.release()
            events = await watch(runtime, started.conversation, run=started.run)
            assert ending(events) == ("completed" if on else "interrupted")

    scenario(work())


@both_ways
def test_delta_checkpoints_grow_with_the_thread_and_not_with_its_square(
    house: House, on: bool
) -> None:
    sizes: list[int] = []

    async def work() -> None:
        protections = only(Protection.DELTA_CHECKPOINTS, on=on)
        async with house.open(protections=protections) as runtime:
            conversation = None
            for turn in range(2 * TURNS):
                house.model.script([[say("y" * 2_000)]])
                started = await send(runtime, f"{turn} " + "x" * 2_000, conversation)
                conversation = started.conversation
                assert (await outcome(runtime, started)).status is RunStatus.COMPLETED
                sizes.append(stored(house))

    scenario(work())
    assert (sizes[-1] <= 2.2 * sizes[TURNS - 1]) == on


@both_ways
def test_done_check_refuses_half_an_answer(house: House, on: bool) -> None:
    house.model.script([[say("Half of an answer is no answer."), cut(after=2)]])

    async def work() -> None:
        async with house.open(protections=only(Protection.DONE_CHECK, on=on)) as runtime:
            run = await outcome(runtime, await send(runtime, "Say all of it"))
            roles = [role for role, _ in await told(runtime, run.conversation_id)]
            assert run.error_code == ("MODEL_FAILED" if on else None)
            assert roles == (["user"] if on else ["user", "assistant"])

    scenario(work())


@both_ways
def test_replay_sends_whoever_comes_back_what_was_missed(house: House, on: bool) -> None:
    async def work() -> None:
        async with house.open(protections=only(Protection.REPLAY, on=on)) as runtime:
            house.model.hold(20)
            started = await send(runtime, "Write an essay of 60 words about tea.")
            await asyncio.to_thread(house.model.wait_held)
            back = await runtime.subscribe(
                started.conversation, run=None, last_event_id=f"{started.run}:1"
            )
            assert back is not None
            house.model.release()
            numbers = [int((sent.id or "").rpartition(":")[2]) async for sent in back]
            assert numbers == list(range(numbers[0], numbers[-1] + 1))
            assert (numbers[0] == 2) == on

    scenario(work())


@both_ways
def test_erase_leaves_no_byte_of_a_deleted_conversation(house: House, on: bool) -> None:
    async def work() -> None:
        async with house.open(protections=only(Protection.ERASE, on=on)) as runtime:
            kept = await send(runtime, "Say: the petunia stays.")
            deleted = await send(runtime, "Say: " + "the heliotrope goes. " * 400)
            for started in (kept, deleted):
                await outcome(runtime, started)
            await runtime.delete_conversation(deleted.conversation)
            assert b"the petunia stays" in in_files(house)
            assert (b"heliotrope" not in in_files(house)) == on

    scenario(work())
    assert (b"heliotrope" not in in_files(house)) == on


def test_no_protection_is_without_its_proof() -> None:
    proved = {name for name in globals() if name.startswith("test_")}
    for protection in Protection:
        assert any(name.startswith(f"test_{protection.lower()}_") for name in proved), protection


def checkpoints(house: House) -> int:
    ((count,),) = house.rows("SELECT count(*) FROM checkpoints")
    return int(count)


def in_files(house: House) -> bytes:
    """Every byte of the database and of what stands beside it."""
    files = sorted(house.folder.glob("sophos.db*"))
    return b"".join(file.read_bytes() for file in files if file.is_file())


def stored(house: House) -> int:
    """Bytes of the threads: what LangGraph keeps."""
    ((checkpoints,),) = house.rows("SELECT sum(length(checkpoint)) FROM checkpoints")
    ((writes,),) = house.rows("SELECT sum(length(value)) FROM writes")
    return int(checkpoints) + int(writes)
