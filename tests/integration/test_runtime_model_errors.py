"""A model server that refuses, lies, breaks off or says nothing: each has its code, and a way on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from runtime_parts import House, answer, ending, outcome, resume, scenario, told, watch
from runtime_parts import say as send

from lab.model.script import call, cut, empty, error_line, fail, hang, hang_after, length, line, say
from sophos.protections import Protection, Protections
from sophos.run import RunStatus

SHORT: dict[str, Any] = {"model_first_token_timeout": 0.3, "model_token_timeout": 0.3}
DEEP: Any = json.loads("[" * 300 + "]" * 300)
HALF_CALL = json.dumps(
    {
        "model": "qwen3",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "lab__add", "arguments": {"text": "\ud800"}}}],
        },
        "done": True,
        "done_reason": "stop",
    }
)
HALF: Any = [say("A long answer that will not come to its end."), cut(after=4)]


@pytest.mark.parametrize(
    ("turn", "code", "words"),
    [
        (fail(503, "overloaded"), "MODEL_FAILED", "overloaded"),
        (fail(404, "model 'qwen3' not found"), "MODEL_UNAVAILABLE", "not found"),
        (fail(400, "qwen3 does not support tools"), "MODEL_UNAVAILABLE", "does not support tools"),
        (HALF, "MODEL_FAILED", "without saying it was done"),
        ([say("Half of it and no more"), cut(after=3, reset=True)], "MODEL_FAILED", "broke off"),
        (cut(after=0, reset=True), "MODEL_UNREACHABLE", "does not answer"),
        (cut(after=0), "MODEL_FAILED", "without saying it was done"),
        (error_line("out of memory"), "MODEL_FAILED", "out of memory"),
        ([say("Half of it"), error_line("out of memory", after=1)], "MODEL_FAILED", "memory"),
        ([line("<html>"), say("x")], "MODEL_FAILED", "not a reply"),
        *((line(odd), "MODEL_FAILED", "not a reply") for odd in ("[]", "null", "5", "[" * 9999)),
        (call("lab__add", text=2**64), "MODEL_FAILED", "cannot be kept"),
        (call("lab__add", text=DEEP), "MODEL_FAILED", "cannot be kept"),
        (line(HALF_CALL), "MODEL_FAILED", "cannot be kept"),
        (empty(), "MODEL_FAILED", "empty"),
        ([say(" \n ")], "MODEL_FAILED", "empty"),
        ([say("A long answer"), length(after=2)], "MODEL_FAILED", "length limit"),
        (hang(), "MODEL_UNREACHABLE", "stopped answering"),
        ([say("Half of it"), hang_after(1)], "MODEL_UNREACHABLE", "stopped answering"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_the_model_server_does_has_a_code_and_a_resume_asks_again(
    house: House, turn: Any, code: str, words: str
) -> None:
    async def work() -> None:
        house.model.script([turn, [say("Well.")]])
        # Nobody waits for who hangs; whoever does answer is given the time that it takes.
        async with house.open(**(SHORT if words == "stopped answering" else {})) as runtime:
            started = await send(runtime, "hello")
            assert ending(await watch(runtime, started.conversation)) == code
            failed = await runtime.run(started.run)
            assert (failed.status, failed.error_code) == (RunStatus.FAILED, code)
            assert words in (failed.error_message or "")
            assert (await runtime.conversation(started.conversation)).resumable
            assert await told(runtime, started.conversation) == [("user", "hello")]
        async with house.open() as runtime:
            again = await resume(runtime, started.conversation)
            assert answer(await watch(runtime, started.conversation)) == "Well."
            assert (await runtime.run(again.run)).status is RunStatus.COMPLETED

    scenario(work())


def test_a_refused_connection_is_unreachable_and_names_the_server(house: House) -> None:
    async def work() -> None:
        async with house.open(ollama_host="http://127.0.0.1:9") as runtime:
            failed = await outcome(runtime, await send(runtime, "hello"))
            assert failed.error_code == "MODEL_UNREACHABLE"
            assert "http://127.0.0.1:9" in (failed.error_message or "")
            readiness = await runtime.readiness()
            assert not readiness.ready
            assert "OLLAMA_HOST" in readiness.checks["model"]

    scenario(work())


def test_a_model_that_is_not_pulled_is_unavailable(house: House) -> None:
    async def work() -> None:
        async with house.open(ollama_model="nobody") as runtime:
            failed = await outcome(runtime, await send(runtime, "hello"))
            assert failed.error_code == "MODEL_UNAVAILABLE"

    scenario(work())


def test_a_new_message_after_a_failed_turn_comes_after_the_first(house: House) -> None:
    async def work() -> None:
        house.model.script([HALF, [say("Both heard.")]])
        async with house.open() as runtime:
            started = await send(runtime, "first")
            await outcome(runtime, started)
            await outcome(runtime, await send(runtime, "second", started.conversation))
            assert await told(runtime, started.conversation) == [
                ("user", "first"),
                ("user", "second"),
                ("assistant", "Both heard."),
            ]

    scenario(work())


def test_without_the_done_check_half_an_answer_stands_as_a_whole_one(house: House) -> None:
    async def work() -> None:
        house.model.script([HALF])
        off = Protections.without(Protection.DONE_CHECK)
        async with house.open(protections=off) as runtime:
            run = await outcome(runtime, await send(runtime, "hello"))
            assert run.status is RunStatus.COMPLETED

    scenario(work())


def test_half_a_character_in_a_reply_is_replaced_and_the_run_goes_on(house: House) -> None:
    async def work() -> None:
        half = line(
            HALF_CALL.replace('"content": ""', '"content": "\\ud83d"').replace("d800", "0061")
        )
        house.model.script([[half], [say("Done.")]])
        async with house.open() as runtime:
            run = await outcome(runtime, await send(runtime, "hello"))
            assert run.error_message is None
            assert (await told(runtime, run.conversation_id))[1] == ("assistant", "\ufffd")

    scenario(work())


def test_a_page_that_a_server_answers_with_is_quoted_in_part(house: House) -> None:
    async def work() -> None:
        house.model.script([fail(502, "<html>" * 10_000)])
        async with house.open() as runtime:
            run = await outcome(runtime, await send(runtime, "hello"))
            assert "<html>" in (run.error_message or "")
            assert len(run.error_message or "") < 1_000

    scenario(work())


def test_a_password_in_the_model_servers_address_is_told_to_nobody(house: House) -> None:
    async def work() -> None:
        async with house.open(ollama_host="http://me:hidden-word@127.0.0.1:9") as runtime:
            run = await outcome(runtime, await send(runtime, "hello"))
            assert run.error_code == "MODEL_UNREACHABLE"
            told_of = [run.error_message or "", (await runtime.readiness()).checks["model"]]
        for text in told_of:
            assert "http://127.0.0.1:9" in text
            assert "hidden-word" not in text

    scenario(work())
