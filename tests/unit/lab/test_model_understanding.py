"""The scripted model does what it is asked for, and says so when it cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_talk import NOT_FOUND, PAGE, SENTENCE, TOOLS, Talk, described

from lab.model.reply import Think
from lab.model.understanding import plan, understand

URL = "http://127.0.0.1:8000/"
WALK = (
    f"Fetch {URL} and summarise it in one sentence. Then save that sentence to your knowledge graph"
    ' as an observation on an entity named "example.com" (entityType: website).'
)
VARIANTS = [
    WALK,
    WALK.replace("Fetch", "Fetch the page").replace(". Then", "; then"),
    WALK.replace("summarise", "summarize").replace('"example.com"', "example.com"),
    WALK.replace(" and summarise", ", summarise").replace(". Then save", " and save"),
]
ADD = (
    "memory__add_observations",
    {"observations": [{"entityName": "example.com", "contents": [SENTENCE]}]},
)
CREATE = (
    "memory__create_entities",
    {"entities": [{"name": "example.com", "entityType": "website", "observations": [SENTENCE]}]},
)


@pytest.mark.parametrize("prompt", VARIANTS)
def test_the_walk_fetches_fails_to_add_creates_and_quotes_the_sentence(prompt: str) -> None:
    talk = Talk({"add_observations": NOT_FOUND})
    answer = talk.ask(prompt)
    assert talk.calls == [("fetch__fetch", {"url": URL}), ADD, CREATE]
    assert SENTENCE in answer
    assert len(talk.messages) == 8


def test_an_entity_that_exists_needs_no_creating() -> None:
    talk = Talk()
    assert SENTENCE in talk.ask(WALK)
    assert talk.calls == [("fetch__fetch", {"url": URL}), ADD]


def test_an_entity_that_was_there_after_all_is_told_so() -> None:
    talk = Talk({"add_observations": NOT_FOUND, "create_entities": "[]"})
    assert "was there already" in talk.ask(WALK)


def test_an_outcome_that_is_not_known_is_neither_repeated_nor_claimed() -> None:
    unknown = "The tool server died. The effect may or may not have happened."
    talk = Talk({"add_observations": unknown})
    assert unknown in talk.ask(WALK)
    assert talk.called == ["fetch__fetch", "memory__add_observations"]


def test_nothing_is_saved_of_a_page_that_did_not_come() -> None:
    talk = Talk({"fetch": f"Failed to fetch {URL} - status code 404"})
    answer = talk.ask(WALK)
    assert talk.called == ["fetch__fetch"]
    assert "status code 404" in answer
    assert "saved nothing" in answer


@pytest.mark.parametrize("sample", range(9))
def test_a_sample_changes_words_and_never_calls(sample: int) -> None:
    first, other = Talk({"add_observations": NOT_FOUND}), Talk({"add_observations": NOT_FOUND})
    other.sample = sample
    first_answer, other_answer = first.ask(WALK), other.ask(WALK)
    assert other.calls == first.calls
    assert (other_answer == first_answer) is (sample % 6 == 0)


def test_thinking_differs_from_one_sample_to_the_next() -> None:
    message = {"role": "user", "content": WALK}
    thoughts = set()
    for sample in range(4):
        thought = understand([message], described(list(TOOLS)), sample=sample).parts[0]
        assert isinstance(thought, Think)
        assert thought.text.startswith("This is scripted reasoning.")
        thoughts.add(thought.text)
    assert len(thoughts) == 4


@pytest.mark.parametrize(
    ("prompt", "calls"),
    [
        ('Create a task "fetch the milk"', [("tasks__create_task", {"title": "fetch the milk"})]),
        ("Create a task called buy bread.", [("tasks__create_task", {"title": "buy bread"})]),
        ('Create a task "rent" exactly once', [("tasks__create_task_once", {"title": "rent"})]),
        (
            "Create three tasks: shop, cook, and eat.",
            [("tasks__create_task", {"title": title}) for title in ("shop", "cook", "eat")],
        ),
        ('Create the tasks "a" and "a".', [("tasks__create_task", {"title": "a"})] * 2),
        ("List my tasks.", [("tasks__list_tasks", {})]),
        ("Delete task 3.", [("tasks__delete_task", {"task_id": 3})]),
        ("Run a slow task of 5 seconds.", [("tasks__slow_task", {"seconds": 5})]),
        ("Read the knowledge graph.", [("memory__read_graph", {})]),
        ("What do you know about me?", [("memory__search_nodes", {"query": "user"})]),
        ("What do you know about the moon?", [("memory__search_nodes", {"query": "moon"})]),
        ("What is my favourite colour?", [("memory__search_nodes", {"query": "favourite colour"})]),
        ('Delete the entity "moon".', [("memory__delete_entities", {"entityNames": ["moon"]})]),
        ("Forget everything about the moon.", [("memory__delete_entities", {"entityNames": ["moon"]})]),
        ('Call tasks__slow_task with {"seconds": 2}', [("tasks__slow_task", {"seconds": 2})]),
        ('Use tasks__create_task with title="a b"', [("tasks__create_task", {"title": "a b"})]),
        ("Call memory__read_graph 3 times", [("memory__read_graph", {})] * 3),
        (f"Read {URL} and http://b.example/x.", [("fetch__fetch", {"url": URL}), ("fetch__fetch", {"url": "http://b.example/x"})]),
        (f'Create a task "a", then fetch {URL} and list the tasks', [("tasks__create_task", {"title": "a"}), ("fetch__fetch", {"url": URL}), ("tasks__list_tasks", {})]),
    ],
)  # fmt: skip
def test_what_is_asked_for_is_called(prompt: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    talk = Talk()
    talk.ask(prompt)
    assert talk.calls == calls


def test_pages_asked_for_together_are_fetched_in_one_turn() -> None:
    talk = Talk()
    talk.messages.append(
        {"role": "user", "content": f"Fetch {URL}a and {URL}b and summarise them."}
    )
    assert [call.arguments["url"] for call in talk.step()] == [f"{URL}a", f"{URL}b"]


def test_a_fact_to_remember_goes_to_the_graph_in_the_third_person() -> None:
    talk = Talk({"add_observations": "Entity with name user not found"})
    talk.ask("Remember that my favourite colour is green.")
    name, arguments = talk.calls[-1]
    assert name == "memory__create_entities"
    assert arguments["entities"][0]["observations"] == ["The user's favourite colour is green."]


def test_what_was_said_in_the_conversation_is_answered_from_it() -> None:
    talk = Talk()
    talk.ask("My name is Ada.")
    assert "Ada" in talk.ask("What is my name?")
    assert talk.ask("What was the first thing I said?") == 'You said: "My name is Ada."'
    assert talk.ask("What did I just say?") == 'You said: "What was the first thing I said?"'
    assert talk.ask("Say that again.") == talk.messages[-3]["content"]
    assert talk.calls == []


def test_what_the_graph_holds_is_told_as_it_stands() -> None:
    entity = {"name": "user", "entityType": "person", "observations": ["Likes green."]}
    talk = Talk({"search_nodes": json.dumps({"entities": [entity], "relations": []})})
    answer = talk.ask("What is my favourite colour?")
    assert (
        answer
        == "The knowledge graph says about your favourite colour:\n- user (person): Likes green."
    )
    empty = Talk({"read_graph": json.dumps({"entities": [], "relations": []})})
    assert empty.ask("Read the graph.") == "The knowledge graph holds nothing."


def test_without_the_tool_it_says_that_it_cannot() -> None:
    assert "no tool that fetches" in Talk(tools=[]).ask(WALK)
    assert "no task tracker" in Talk(tools=[]).ask('Create a task "a".')
    assert "I am offered no tool tasks__gone" in Talk().ask("Call tasks__gone.")


def test_a_rejected_call_is_not_worked_around() -> None:
    talk = Talk({"delete_entities": "Rejected by the person: keep it, please."})
    assert "keep it, please" in talk.ask('Delete the entity "moon".')
    assert talk.called == ["memory__delete_entities"]


def test_go_on_takes_up_what_is_missing_and_nothing_else() -> None:
    talk = Talk()
    talk.messages = [
        {"role": "user", "content": 'Create the tasks "a" and "b".'},
        {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "tasks__create_task", "arguments": {"title": title}}} for title in "ab"
        ]},
        {"role": "tool", "content": '{"title": "a"}'},
        {"role": "tool", "content": "The call was abandoned."},
    ]  # fmt: skip
    talk.ask("Please continue.")
    assert talk.calls == [("tasks__create_task", {"title": "b"})]


def test_a_call_left_without_an_answer_is_not_taken_for_done() -> None:
    talk = Talk()
    talk.messages = [
        {"role": "user", "content": f"Fetch {URL}"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "fetch__fetch", "arguments": {"url": URL}}}]},
    ]  # fmt: skip
    assert "I could not read the page" in str(talk.reply().parts[-1])


def test_two_messages_that_nobody_answered_are_both_answered() -> None:
    talk = Talk(messages=[{"role": "user", "content": 'Create a task "first".'}])
    talk.ask('Create a task "second".')
    assert [arguments["title"] for _, arguments in talk.calls] == ["first", "second"]


def test_a_call_without_end_goes_on_until_somebody_stops_it() -> None:
    with pytest.raises(AssertionError, match="No answer within 30 steps"):
        Talk().ask("Call memory__read_graph again and again.", most_steps=30)


@pytest.mark.parametrize("prompt", ["What is the capital of France?", "", "???", "2026-08-31"])
def test_what_it_does_not_understand_it_says_and_lists_what_it_can_do(prompt: str) -> None:
    talk = Talk()
    answer = talk.ask(prompt)
    assert "I do not understand that." in answer
    assert "not a language model" in answer
    assert "tasks__create_task" in answer
    assert talk.calls == []


@pytest.mark.parametrize("prompt", ["Who are you?", "Are you a language model?", "help", "Hello!"])
def test_it_never_passes_for_a_language_model(prompt: str) -> None:
    assert "not a language model" in Talk().ask(prompt)


def test_what_stands_in_quotes_is_no_order() -> None:
    assert (
        Talk()
        .ask('Say "fetch http://a.example/ and delete the entity x".')
        .startswith("fetch http")
    )
    talk = Talk()
    talk.ask(f'Create a task "read {URL} and create a task".')
    assert talk.calls == [("tasks__create_task", {"title": f"read {URL} and create a task"})]


@given(
    st.text(
        alphabet=st.sampled_from("fetch save task graph and then my is \"'`.,;:{}()1+2/\n\x00\x01"),
        max_size=300,
    )
)
def test_any_text_gets_an_answer(text: str) -> None:
    assert plan(text) is not None
    reply = understand([{"role": "user", "content": text}], described(list(TOOLS)), sample=0)
    assert len(reply.parts) >= 2


@pytest.mark.parametrize("text", ["1 + ", "(", "save ", "write ", "[", "http://a ", '"', "my a "])
def test_a_long_hostile_text_is_read_in_time(text: str) -> None:
    message = {"role": "user", "content": (text * 100_000)[:100_000]}
    assert understand([message], described(list(TOOLS)), sample=0).parts


def test_tools_and_calls_of_an_odd_shape_are_no_fault() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": None},
        {
            "role": "assistant",
            "tool_calls": ["odd", {"function": 1}, {"function": {"arguments": "x"}}],
        },
        {"role": "tool"},
    ]
    tools: list[dict[str, Any]] = [
        {},
        {"function": "x"},
        {"function": {"name": "a", "parameters": 1}},
    ]
    assert understand(messages, tools, sample=0).parts


def test_a_page_is_summarised_by_its_first_sentences() -> None:
    assert Talk().ask(f"Summarise {URL} in two sentences.").endswith(PAGE.partition("\n\n")[2])
