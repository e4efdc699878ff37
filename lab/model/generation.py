"""One reply on its way out: paced, counted token by token, and ended as it should."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any, Final

from lab.http.server import Answer
from lab.model import protocol
from lab.model.ledger import Received
from lab.model.protocol import ChatRequest, Count
from lab.model.reply import End, Ending, Reply, Token, tokens
from lab.model.tempo import Beat, Tempo

NDJSON: Final = "application/x-ndjson"


class Streamed:
    """A reply sent line by line. Nothing is sent, not even a header, before the first line."""

    def __init__(self, answer: Answer, model: str) -> None:
        self._answer = answer
        self._model = model

    async def token(self, token: Token) -> None:
        if token.message is None:
            await self._line(token.line or "")
        else:
            await self._line(protocol.piece(self._model, token.message))

    async def end(self, ending: Ending, count: Count) -> None:
        match ending.kind:
            case End.ERROR:
                await self._line(json.dumps({"error": ending.message}))
            case End.DONE | End.LENGTH:
                message = {"role": "assistant", "content": ""}
                reason = "length" if ending.kind is End.LENGTH else "stop"
                await self._line(json.dumps(protocol.last(self._model, message, reason, count)))
            case _:
                self._begin()
        self._answer.finish()

    def _begin(self) -> None:
        if not self._answer.started:
            self._answer.start(NDJSON)

    async def _line(self, line: str) -> None:
        self._begin()
        await self._answer.write(line.encode() + b"\n")


class Whole:
    """A reply sent in one piece. A cut one has no body to send, so its connection breaks."""

    def __init__(self, answer: Answer, model: str) -> None:
        self._answer = answer
        self._model = model
        self._message: dict[str, Any] = {"role": "assistant", "content": ""}

    async def token(self, token: Token) -> None:
        piece = json.loads(token.message or "{}")
        self._message["content"] += piece.get("content", "")
        if "thinking" in piece:
            self._message["thinking"] = self._message.get("thinking", "") + piece["thinking"]
        if "tool_calls" in piece:
            self._message.setdefault("tool_calls", []).extend(piece["tool_calls"])

    async def end(self, ending: Ending, count: Count) -> None:
        match ending.kind:
            case End.ERROR:
                await self._answer.json(500, {"error": ending.message})
            case End.DONE | End.LENGTH:
                reason = "length" if ending.kind is End.LENGTH else "stop"
                body = protocol.last(self._model, self._message, reason, count)
                await self._answer.json(200, body)
            case _:
                self._answer.abort()


async def generate(
    reply: Reply, chat: ChatRequest, answer: Answer, *, tempo: Tempo, entry: Received, prompt: int
) -> str:
    """Send the reply; gives how it ended, for the ledger. `prompt` is its size in tokens."""
    if reply.ending.kind is End.FAIL:
        await answer.json(reply.ending.status, {"error": reply.ending.message})
        return "failed"
    pieces = list(tokens(reply, think=chat.think))
    ending = _limited(reply.ending, pieces, chat.limit)
    sink = Streamed(answer, chat.model) if chat.stream else Whole(answer, chat.model)
    asked = time.perf_counter()
    began = asked
    beat = Beat(tempo)
    for piece in pieces[: ending.after]:
        await beat.before_token(entry.tokens)
        if entry.tokens == 0:
            began = time.perf_counter()
        await sink.token(piece)
        entry.tokens += 1
    await tempo.pass_gate(entry.tokens)
    match ending.kind:
        case End.HANG:
            await asyncio.Event().wait()
        case End.RESET:
            answer.abort()
        case _:
            writing = time.perf_counter() - began
            count = Count(prompt=prompt, reply=entry.tokens, reading=began - asked, writing=writing)
            await sink.end(ending, count)
    return _outcome(ending.kind)


def _limited(ending: Ending, pieces: Sequence[Token], limit: int | None) -> Ending:
    """The ending, or the one by `num_predict` where that comes first."""
    wanted = len(pieces) if ending.after is None else min(ending.after, len(pieces))
    if limit is None or limit >= wanted:
        return ending
    return Ending(kind=End.LENGTH, after=limit)


def _outcome(kind: End) -> str:
    match kind:
        case End.DONE | End.LENGTH:
            return "done"
        case End.ERROR:
            return "failed"
        case _:
            return "cut"
