"""Tool arguments as the model wrote them: a string stays that string, byte for byte."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from langchain_core.exceptions import OutputParserException
from langchain_core.messages import BaseMessage
from langchain_ollama import ChatOllama

_MARK: Final = "\x00"  # no JSON text and no Python literal starts with it


class VerbatimChat(ChatOllama):
    """ChatOllama that leaves the strings among a tool call's arguments as they are.

    The library parses a string that looks like JSON into an object. A mark that no JSON starts
    with keeps it from doing so; `verbatim` takes the mark off again.
    """

    async def _acreate_chat_stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[Mapping[str, Any] | str]:
        async for part in _readable(super()._acreate_chat_stream(messages, stop, **kwargs)):
            if not isinstance(part, str):
                for call in part["message"].get("tool_calls") or ():
                    arguments = call["function"]["arguments"]
                    call["function"]["arguments"] = {
                        key: _MARK + value if isinstance(value, str) else value
                        for key, value in arguments.items()
                    }
            yield part

    async def close(self) -> None:
        """Close the connections to the model server."""
        await self._async_client.close()  # type: ignore[no-untyped-call]


async def _readable(
    parts: AsyncIterator[Mapping[str, Any] | str],
) -> AsyncIterator[Mapping[str, Any] | str]:
    """The parts; what the library trips over, such as a line of JSON that is no object, as no reply."""
    try:
        async for part in parts:
            yield part
    except (AttributeError, RecursionError) as error:
        raise OutputParserException("not a part of a reply") from error


def verbatim(call: Mapping[str, Any]) -> dict[str, Any]:
    args = {
        key: value[1:] if isinstance(value, str) and value.startswith(_MARK) else value
        for key, value in call["args"].items()
    }
    return {**call, "args": args}
