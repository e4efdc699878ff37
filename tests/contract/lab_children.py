"""The lab's own servers as tests hold them: real processes, ended with the block."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_ollama import ChatOllama

from lab.model.handle import Model
from lab.process import Process

FETCH = {
    "type": "function",
    "function": {
        "name": "fetch__fetch",
        "description": "Fetches a page.",
        "parameters": {
            "type": "object",
            "properties": {"url": {"type": "string"}},
            "required": ["url"],
        },
    },
}


@contextmanager
def running(module: str, directory: Path, *options: str) -> Iterator[Process]:
    """`python -m <module>`, ready; `.ready` holds its URL."""
    process = Process(module, [], directory=directory)
    process.command = (
        *(sys.executable, "-m", module, "--owner-pipe", "stdin"),
        *("--ready-file", str(process.ready_file), *options),
    )
    process.start()
    try:
        yield process
    finally:
        process.end()


@contextmanager
def model_server(directory: Path, *options: str) -> Iterator[Model]:
    with (
        running("lab.model", directory, *options) as process,
        Model(process.ready["url"]) as model,
    ):
        yield model


@asynccontextmanager
async def chat_with(server: Model, /, **options: Any) -> AsyncIterator[ChatOllama]:
    """The client that the runtime uses, with its connections closed at the end."""
    given: dict[str, Any] = {"model": "qwen3", "reasoning": True, "num_ctx": 8192}
    chat = ChatOllama(**(given | options), base_url=server.url)
    try:
        yield chat
    finally:
        await chat._async_client._client.aclose()
        chat._client._client.close()


async def streamed(
    server: Model, text: Any, /, *, tools: bool = False, **options: Any
) -> AIMessageChunk:
    """The whole reply, streamed and joined as the library joins it."""
    async with chat_with(server, **options) as chat:
        asked = chat.bind_tools([FETCH]) if tools else chat
        whole: AIMessageChunk | None = None
        async for chunk in asked.astream(text):
            assert isinstance(chunk, AIMessageChunk)
            whole = chunk if whole is None else whole + chunk
    assert whole is not None
    return whole
