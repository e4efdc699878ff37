from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from sophos.agent.history import abandoned, for_model, ordered, result_id


def ask(text: str) -> HumanMessage:
    return HumanMessage(id=f"ask {text}", content=text)


def calls(*names: str) -> AIMessage:
    return AIMessage(
        id="calls " + " ".join(names),
        content="",
        tool_calls=[{"id": name, "name": f"a__{name}", "args": {}} for name in names],
    )


def result(call: str) -> ToolMessage:
    return ToolMessage(id=result_id(call), tool_call_id=call, name=f"a__{call}", content=call)


def say(text: str) -> AIMessage:
    return AIMessage(id=f"say {text}", content=text)


def test_results_stand_behind_their_calls_in_the_order_of_the_calls() -> None:
    question, wanted, answer = ask("q"), calls("one", "two"), say("done")
    mixed: list[BaseMessage] = [question, wanted, result("two"), answer, result("one")]
    assert ordered(mixed) == [question, wanted, result("one"), result("two"), answer]


def test_order_is_kept_where_it_is_right_already() -> None:
    thread: list[BaseMessage] = [ask("q"), calls("one"), result("one"), say("done")]
    assert ordered(thread) == thread


def test_a_call_without_a_result_gets_an_error_result_that_says_so() -> None:
    [missing] = abandoned([ask("q"), calls("one", "two"), result("one")], run="r")
    assert (missing.tool_call_id, missing.status) == ("two", "error")
    assert "abandoned" in missing.text
    assert missing.id == result_id("two")


def test_an_answered_thread_needs_no_repair() -> None:
    assert abandoned([ask("q"), calls("one"), result("one")], run="r") == []


def test_whole_turns_are_left_out_from_the_oldest() -> None:
    old = [ask("x" * 9_000), calls("one"), result("one"), say("y" * 9_000)]
    new = [ask("now"), say("yes")]
    sent, left_out = for_model([*old, *new], prompt="", num_ctx=4_096)
    assert (sent, left_out) == (new, len(old))


def test_the_newest_turn_always_goes() -> None:
    huge = [ask("x" * 100_000)]
    assert for_model(huge, prompt="p", num_ctx=512) == (huge, 0)


def test_reasoning_is_sent_within_its_own_turn_only() -> None:
    def thinking(text: str) -> AIMessage:
        return AIMessage(id=text, content=text, additional_kwargs={"reasoning_content": "hm"})

    thread = [ask("1"), thinking("one"), ask("2"), thinking("two")]
    sent, _ = for_model(thread, prompt="", num_ctx=8_192)
    assert "reasoning_content" not in sent[1].additional_kwargs
    assert sent[3].additional_kwargs["reasoning_content"] == "hm"
    assert thread[1].additional_kwargs["reasoning_content"] == "hm"
