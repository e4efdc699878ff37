"""The chat model behind Ollama's protocol. Its errors become ours here and nowhere else.

A reply counts only if the server said `done`: a stream that ends early is no answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from sophos.agent.model_errors import model_errors
from sophos.agent.verbatim import VerbatimChat, verbatim
from sophos.errors import ModelFailed
from sophos.settings import is_loopback
from sophos.tool import Tool

CONNECT_TIMEOUT: Final = 10.0  # seconds
PROBE_TIMEOUT: Final = 2.0  # seconds
DEEPEST: Final = 100  # levels of nesting in a tool call's arguments

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

    @property
    def shown_host(self) -> str:
        """The host as anyone may read it: without the name and password it may hold."""
        parts = urlsplit(self.host)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


@dataclass(kw_only=True)
class _Reply:
    answer: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    tool_calls: list[Any] = field(default_factory=list)
    done: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    usage: Any = None

    @property
    def begun(self) -> bool:
        return bool(self.answer or self.reasoning or self.tool_calls)


@asynccontextmanager
async def open_model(options: ModelOptions) -> AsyncIterator[Model]:
    """The model; nothing is connected before the first use, and nothing is left open."""
    model = Model(options)
    try:
        yield model
    finally:
        await model.close()


class Model:
    """Asks for replies. Keeps no state but its connection pool, which dies with the process."""

    def __init__(self, options: ModelOptions) -> None:
        self._options = options
        self._trust_env = not is_loopback(urlsplit(options.host).hostname or "")
        self._chat = VerbatimChat(
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
        with model_errors(self._options.shown_host, begun=lambda: gathered.begun):
            await self._gather(messages, tools, gathered, on_piece)
        self._require_whole(gathered)
        reasoning = _whole("".join(gathered.reasoning))
        calls = [verbatim(call) for call in gathered.tool_calls]
        if not all(_keepable(call["name"]) and _keepable(call["args"]) for call in calls):
            raise ModelFailed(
                "The model's tool call holds half a character, a number beyond 64 bits or too deep"
                " a nesting, which cannot be kept. Resume to ask again."
            )
        return AIMessage(
            id=message_id,
            content=_whole("".join(gathered.answer)),
            tool_calls=calls,
            additional_kwargs={
                "run": run,
                **({"reasoning_content": reasoning} if reasoning else {}),
            },
            response_metadata=gathered.metadata,
            usage_metadata=gathered.usage,
        )

    async def close(self) -> None:
        await self._chat.close()

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
                f"No model server answers at {options.shown_host}."
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
        heard = False
        try:
            while True:
                async with asyncio.timeout(wait):
                    chunk = await anext(stream)
                assert isinstance(chunk, AIMessageChunk)
                heard = True
                wait = self._options.token_timeout
                _take(chunk, gathered, on_piece)
        except StopAsyncIteration:
            return
        except ValueError as error:
            # LangChain has no class of its own for a stream with nothing in it.
            if heard or type(error) is not ValueError:
                raise
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


def _whole(text: str) -> str:
    """The text with halves of a surrogate pair joined, and one without its other half replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _keepable(value: Any, depth: int = 0) -> bool:
    """Whether JSON can carry a value and the record can keep it."""
    if isinstance(value, str):
        return _whole(value) == value
    if isinstance(value, dict | list):
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return depth < DEEPEST and all(_keepable(part, depth + 1) for part in parts)
    return not isinstance(value, int) or -(2**63) <= value < 2**64


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
