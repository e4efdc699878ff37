"""What the model is sent: the thread, in order, with every call answered, trimmed only on purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

CHARACTERS_PER_TOKEN: Final = 3  # low on purpose: better to leave out early than be cut silently
REPLY_SHARE: Final = 4  # one part in so many of the context is left for the reply
ABANDONED: Final = (
    "This call was abandoned before its result was recorded."
    " It may or may not have had an effect. Check before you repeat it."
)


def ordered(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """The messages, each tool result behind its call and in the order of the calls.

    The model server's protocol pairs results with calls by their order alone.
    """
    known = list(messages)
    results = {m.tool_call_id: m for m in known if isinstance(m, ToolMessage)}
    placed: set[str] = set()
    arranged: list[BaseMessage] = []
    for message in known:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in placed:
                placed.add(message.tool_call_id)
                arranged.append(message)
            continue
        arranged.append(message)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                found = results.get(call["id"] or "")
                if found is not None and found.tool_call_id not in placed:
                    placed.add(found.tool_call_id)
                    arranged.append(found)
    return arranged


def abandoned(messages: Sequence[BaseMessage], *, run: str) -> list[ToolMessage]:
    """An error result for each call that has none: it was given up for a new message."""
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    return [
        ToolMessage(
            id=result_id(call["id"] or ""),
            tool_call_id=call["id"] or "",
            name=call["name"],
            content=ABANDONED,
            status="error",
            additional_kwargs={"run": run},
        )
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"] not in answered
    ]


def result_id(call_id: str) -> str:
    """The id of a call's result: the same however often the call is repeated."""
    return f"result/{call_id}"


def for_model(
    messages: Sequence[BaseMessage], *, prompt: str, num_ctx: int
) -> tuple[list[BaseMessage], int]:
    """What fits, and how many messages were left out.

    Whole turns go, from the oldest; the newest turn always stays. Reasoning of earlier turns is
    not sent again: the models that reason are not trained to read it.
    """
    turns = _turns(ordered(messages))
    budget = num_ctx * CHARACTERS_PER_TOKEN * (REPLY_SHARE - 1) // REPLY_SHARE - len(prompt)
    kept: list[list[BaseMessage]] = []
    for turn in reversed(turns):
        budget -= sum(_characters(message) for message in turn)
        if kept and budget < 0:
            break
        kept.insert(0, turn)
    sent = [message for turn in kept for message in turn]
    newest = len(kept[-1]) if kept else 0
    earlier = [_without_reasoning(message) for message in sent[: len(sent) - newest]]
    return earlier + sent[len(sent) - newest :], sum(len(turn) for turn in turns) - len(sent)


def _turns(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    turns: list[list[BaseMessage]] = []
    for message in messages:
        if isinstance(message, HumanMessage) or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _characters(message: BaseMessage) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    return len(message.text) + sum(len(str(call["args"])) for call in calls)


def _without_reasoning(message: BaseMessage) -> BaseMessage:
    if not message.additional_kwargs.get("reasoning_content"):
        return message
    kept = {k: v for k, v in message.additional_kwargs.items() if k != "reasoning_content"}
    return message.model_copy(update={"additional_kwargs": kept})
