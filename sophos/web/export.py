"""A conversation as a file for readers: a transcript in Markdown, or a line per checkpoint.

An export is a projection: it leaves out the model's reasoning, and nothing ever reads it back.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

from sophos.conversation import Checkpoint, Message
from sophos.runtime.answers import ConversationView
from sophos.web.schemas import MessageBody

SPEAKERS: Final = {"user": "You", "assistant": "Assistant", "tool": "Tool"}


async def markdown_parts(view: ConversationView) -> AsyncIterator[str]:
    """The transcript, a message at a time."""
    conversation = view.conversation
    title = " ".join(conversation.title.split())
    yield f"# {title}\n\nStarted {conversation.created_at}, {len(view.messages)} messages.\n"
    for message in view.messages:
        yield "\n" + markdown_message(message)


def markdown_message(message: Message) -> str:
    """One message under a heading; what a tool took and gave stands in fences it cannot leave."""
    parts = []
    if message.role == "tool":
        outcome = " (error)" if message.status == "error" else ""
        heading = f"## Tool: {message.name or 'unnamed'}{outcome}"
        parts.append(fenced(message.content))
    else:
        heading = f"## {SPEAKERS[message.role]}"
        if message.content:
            parts.append(message.content)
    for call in message.tool_calls:
        args = json.dumps(call.args, ensure_ascii=False, indent=2)
        parts.append(f"Calls `{call.name}`:\n\n{fenced(args, 'json')}")
    return "\n\n".join([heading, *parts]) + "\n"


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


async def jsonl_lines(checkpoints: AsyncIterator[Checkpoint]) -> AsyncIterator[str]:
    """One line per checkpoint, oldest first, as they are read."""
    async for checkpoint in checkpoints:
        yield json.dumps(_projected(checkpoint), ensure_ascii=False) + "\n"


def _projected(checkpoint: Checkpoint) -> dict[str, Any]:
    last: dict[str, Any] | None = None
    if checkpoint.last_message is not None:
        message = MessageBody.of(checkpoint.last_message)
        last = message.model_dump(exclude_unset=True, exclude={"reasoning"})
    return {
        "step": checkpoint.step,
        "source": checkpoint.source,
        "next": list(checkpoint.next),
        "run": checkpoint.run,
        "message_count": checkpoint.message_count,
        "last_message": last,
    }
