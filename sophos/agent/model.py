"""The chat model behind Ollama's protocol. Its errors become ours here and nowhere else.

A reply counts only if the server said `done`: a stream that ends early is no answer.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_ollama import ChatOllama
from ollama import ResponseError
from pydantic import ValidationError

from sophos.errors import ModelFailed, ModelUnavailable, ModelUnreachable
from sophos.settings import is_loopback
from sophos.tool import Tool

CONNECT_TIMEOUT: Final = 10.0  # seconds
PROBE_TIMEOUT: Final = 2.0  # seconds
_VERBATIM: Final = "\x00"

OnPiece = Callable[[str, Literal["answer", "reasoning"]], None]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which model, and how long to wait for it. Times are in seconds."""

    host: str
    name: str
    think: bool
    num_ctx: int
    first_token_timeout: float
    token_timeout: float
    done_check: bool = True


@dataclass(kw_only=True)
class _Reply:
    answer: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    tool_calls: list[Any] = field(default_factory=list)
    done: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    usage: Any = None


class _VerbatimChat(ChatOllama):
    """ChatOllama that leaves the strings among a tool call's arguments as they are.

    The library parses a string that looks like JSON into an object. A mark that no JSON starts
    with keeps it from doing so; `_verbatim` takes the mark off again.
    """

    async def _acreate_chat_stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[Mapping[str, Any] | str]:
        async for part in super()._acreate_chat_stream(messages, stop, **kwargs):
            if not isinstance(part, str):
                for call in part["message"].get("tool_calls") or ():
                    arguments = call["function"]["arguments"]
                    call["function"]["arguments"] = {
                        key: _VERBATIM + value if isinstance(value, str) else value
                        for key, value in arguments.items()
                    }
            yield part


def _verbatim(call: Mapping[str, Any]) -> dict[str, Any]:
    args = {
        key: value[1:] if isinstance(value, str) and value.startswith(_VERBATIM) else value
        for key, value in call["args"].items()
    }
    return {**call, "args": args}


class Model:
    """Asks for replies. Keeps no state but its connection pool, which dies with the process."""

    def __init__(self, options: ModelOptions) -> None:
        self._options = options
        self._trust_env = not is_loopback(urlsplit(options.host).hostname or "")
        self._chat = _VerbatimChat(
            model=options.name,
            base_url=options.host,
            reasoning=options.think,
            num_ctx=options.num_ctx,
            async_client_kwargs={
                # The waits for tokens are ours, below: they differ before and after the first.
                "timeout": httpx.Timeout(None, connect=CONNECT_TIMEOUT),
                "trust_env": self._trust_env,
            },
        )

    async def reply(
        self,
        messages: Sequence[BaseMessage],
        tools: Sequence[Tool],
        *,
        message_id: str,
        run: str,
        on_piece: OnPiece,
    ) -> AIMessage:
        """One complete reply; `on_piece` hears each piece as it comes.

        Raises ModelUnreachable, ModelUnavailable or ModelFailed. Cancellation closes the
        connection, so the server stops working.
        """
        gathered = _Reply()
        with _our_errors(self._options, gathered):
            await self._gather(messages, tools, gathered, on_piece)
        self._require_whole(gathered)
        reasoning = "".join(gathered.reasoning)
        return AIMessage(
            id=message_id,
            content="".join(gathered.answer),
            tool_calls=[_verbatim(call) for call in gathered.tool_calls],
            additional_kwargs={
                "run": run,
                **({"reasoning_content": reasoning} if reasoning else {}),
            },
            response_metadata=gathered.metadata,
            usage_metadata=gathered.usage,
        )

    async def probe(self) -> str | None:
        """None if the server answers and has the model, otherwise what is wrong and what to do."""
        options = self._options
        try:
            async with httpx.AsyncClient(
                timeout=PROBE_TIMEOUT, trust_env=self._trust_env
            ) as client:
                answer = await client.get(f"{options.host}/api/tags")
                names = {model["name"] for model in answer.raise_for_status().json()["models"]}
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return (
                f"No model server answers at {options.host}."
                " Start Ollama there, or correct OLLAMA_HOST."
            )
        if {options.name, f"{options.name}:latest"} & names:
            return None
        return (
            f"The model server does not have {options.name}."
            f" Run `ollama pull {options.name}`, or correct OLLAMA_MODEL."
        )

    async def _gather(
        self,
        messages: Sequence[BaseMessage],
        tools: Sequence[Tool],
        gathered: _Reply,
        on_piece: OnPiece,
    ) -> None:
        chat = self._chat.bind_tools([_described(tool) for tool in tools]) if tools else self._chat
        stream = aiter(chat.astream(list(messages)))
        wait = self._options.first_token_timeout
        try:
            while True:
                async with asyncio.timeout(wait):
                    chunk = await anext(stream)
                assert isinstance(chunk, AIMessageChunk)
                wait = self._options.token_timeout
                _take(chunk, gathered, on_piece)
        except StopAsyncIteration:
            return
        finally:
            await stream.aclose()  # type: ignore[attr-defined]

    def _require_whole(self, gathered: _Reply) -> None:
        if self._options.done_check:
            if not gathered.done:
                raise ModelFailed(
                    "The model server ended the reply without saying it was done."
                    " Resume to ask again."
                )
            if gathered.metadata.get("done_reason") == "length":
                raise ModelFailed(
                    "The reply was cut by its length limit. Raise OLLAMA_NUM_CTX, or ask for less."
                )
        if not gathered.tool_calls and not "".join(gathered.answer).strip():
            raise ModelFailed("The model's answer was empty. Resume to ask again.")


def _take(chunk: AIMessageChunk, gathered: _Reply, on_piece: OnPiece) -> None:
    if reasoning := chunk.additional_kwargs.get("reasoning_content"):
        gathered.reasoning.append(reasoning)
        on_piece(reasoning, "reasoning")
    if isinstance(chunk.content, str) and chunk.content:
        gathered.answer.append(chunk.content)
        on_piece(chunk.content, "answer")
    gathered.tool_calls.extend(chunk.tool_calls)
    if chunk.response_metadata.get("done") is True:
        gathered.done = True
        wanted = ("model", "done_reason", "eval_count", "prompt_eval_count", "total_duration")
        gathered.metadata = {
            key: chunk.response_metadata[key] for key in wanted if key in chunk.response_metadata
        }
        gathered.usage = chunk.usage_metadata


def _described(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.schema),
        },
    }


@contextmanager
def _our_errors(options: ModelOptions, gathered: _Reply) -> Iterator[None]:
    """The model server's errors, and the libraries' in between, as ours."""
    begun = bool(gathered.answer or gathered.reasoning)
    try:
        yield
    except TimeoutError as error:
        raise ModelUnreachable(
            "The model server stopped answering. See what it is doing, then resume."
        ) from error
    except (httpx.TransportError, ConnectionError) as error:
        begun = bool(gathered.answer or gathered.reasoning)
        if begun:
            raise ModelFailed(
                "The model server broke off in the middle of its reply. Resume to ask again."
            ) from error
        raise ModelUnreachable(
            f"The model server at {options.host} does not answer."
            " Start it, or correct OLLAMA_HOST, then resume."
        ) from error
    except ResponseError as error:
        # Ollama tells these two apart by status and words only.
        if error.status_code == 404 or "does not support" in error.error:
            raise ModelUnavailable(
                f"The model server says: {error.error}."
                " Pull the model, or correct OLLAMA_MODEL, then resume."
            ) from error
        raise ModelFailed(f"The model server says: {error.error}. Resume to ask again.") from error
    except (json.JSONDecodeError, ValidationError, OutputParserException) as error:
        raise ModelFailed(
            "The model server sent something that is not a reply. Resume to ask again."
        ) from error
