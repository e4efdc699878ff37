"""What the scripted model makes of words and numbers: tokens, essays, sums, summaries, contexts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_talk import Talk

from lab.model.essay import essay
from lab.model.protocol import estimate_tokens, fit, read_chat
from lab.model.reply import Call, Reply, Say, Think, tokens
from lab.model.summary import summarise
from lab.model.sums import work_out


@given(st.text())
def test_the_tokens_of_a_text_are_that_text(text: str) -> None:
    messages = [json.loads(token.message or "") for token in tokens(_said(text), think=True)]
    assert "".join(message["content"] for message in messages) == text


def _said(text: str) -> Reply:
    return Reply(parts=(Say(text),))


def test_tokens_are_words_and_calls() -> None:
    reply = Reply(parts=(Think("So so."), Say("One, two"), Call("a", {}), Call("b", {})))
    assert len(list(tokens(reply, think=True))) == 6
    assert len(list(tokens(reply, think=False))) == 4


@given(words=st.integers(1, 900), sample=st.integers(0, 50))
def test_an_essay_has_exactly_so_many_words(words: int, sample: int) -> None:
    assert len(essay("a long winter", words, sample=sample).split()) == words


def test_a_new_sample_of_an_essay_is_another_text() -> None:
    assert len({essay("rain", 200, sample=sample) for sample in range(5)}) == 5


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("Write an essay of 300 words about rain.", 300),
        ("Write a 1,200-word essay about rain", 1200),
        ("Explain SQLite's write-ahead log in 80 words.", 80),
        ("Tell me a story about rain in 40 words, please", 40),
    ],
)
def test_a_text_of_so_many_words_is_written(prompt: str, words: int) -> None:
    assert len(Talk().ask(prompt).split()) == words


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("17 * 23", "391"),
        ("2 plus 3 times 4", "14"),
        ("(2 + 3) × 4", "20"),
        ("10 / 4", "2.5"),
        ("1,000 minus 1", "999"),
        ("2 ^ 10", "1024"),
        ("7 modulo 4", "3"),
        ("-3 + 1", "-2"),
    ],
)
def test_a_small_sum_is_worked_out(text: str, value: str) -> None:
    assert work_out(text) == value
    assert value in Talk().ask(f"What is {text}?")


@pytest.mark.parametrize(
    "text", ["1 / 0", "9 ** 9 ** 9", "2 ** 999", "__import__('os')", "1 + ", "a + b", "(-8) ** 0.5"]
)
def test_what_is_no_small_sum_has_no_value(text: str) -> None:
    assert work_out(text) is None


def test_a_summary_leaves_headings_links_and_the_tools_remarks_out() -> None:
    page = (
        "Contents of http://a.example/:\nA Title\n\n# A Title\n\n- an item.\n\nThe *first* sentence"
        " has a [link](/x). The second\nis broken.\n\n<error>Content truncated.</error>"
    )
    assert summarise(page) == "The first sentence has a link."
    assert summarise(page, 5) == "The first sentence has a link. The second is broken."
    assert summarise("Contents of http://a.example/:\n# Only a title") == ""


def chat(messages: list[dict[str, Any]], context: int) -> Any:
    return read_chat({"model": "m", "messages": messages, "options": {"num_ctx": context}})


def test_the_oldest_messages_go_when_the_context_is_full() -> None:
    system = {"role": "system", "content": "Be kind."}
    turns = [{"role": "user", "content": f"{number} " * 50} for number in range(10)]
    room = estimate_tokens([system, *turns[-3:]]) + 5
    seen, dropped = fit(chat([system, *turns], room))
    assert seen == (system, *turns[-3:])
    assert dropped == 7


def test_the_newest_message_stays_however_long_it_is() -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b" * 9999}]
    assert fit(chat(messages, 10)) == (tuple(messages[1:]), 1)
