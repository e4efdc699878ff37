"""The scripted model as an HTTP server: Ollama's routes, and the lab's own under /_lab.

    POST /api/chat    GET /api/tags  /api/version  /api/ps    POST /api/show    GET /

    POST   /_lab/script            {"turns": […]}: replaces what is left of the script
    GET    /_lab/requests?at_least=0   every request received, in order; waits for as many
    GET    /_lab/requests/<n>      one of them, once it has ended; waits for that
    DELETE /_lab/requests          forgets them
    POST   /_lab/pace              {"tokens_per_second": n}; null: as at the start; 0: no delay
    POST   /_lab/hold              {"after_tokens": n}: replies stop at that token
    GET    /_lab/held?at_least=1   how many are held; waits until there are as many
    POST   /_lab/release           {}: held replies go on

The script, the requests, the pace and the gate die with the process.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from lab.http.request import BadRequest, Request
from lab.http.server import Answer
from lab.model import protocol
from lab.model.generation import generate
from lab.model.ledger import Ledger, Received
from lab.model.protocol import ChatRequest
from lab.model.reply import Reply
from lab.model.script import ScriptedTurn, ScriptError, read_script
from lab.model.tempo import FASTEST, Tempo


class ModelServer:
    """One model under one name."""

    def __init__(
        self, *, model: str, tempo: Tempo, ledger: Ledger, script: list[ScriptedTurn]
    ) -> None:
        self._model = model
        self._tempo = tempo
        self._ledger = ledger
        self._script = deque(script)
        self._since = protocol.now()
        self._context_in_use: int | None = None

    def warm_up(self) -> None:
        """Load what only a reply needs. Without it the first reply does, and is late."""
        _understand((), (), sample=0)

    async def handle(self, request: Request, answer: Answer) -> None:
        match request.method, request.path:
            case "POST", "/api/chat":
                await self._chat(request, answer)
            case "GET", "/api/tags":
                await answer.json(200, {"models": [protocol.described(self._model, self._since)]})
            case "GET", "/api/version":
                await answer.json(200, {"version": protocol.VERSION})
            case "GET", "/api/ps":
                await answer.json(200, {"models": self._in_use()})
            case "POST", "/api/show":
                await self._show(request, answer)
            case "GET" | "HEAD", "/":
                await answer.send(200, b"A scripted stand-in for Ollama is running", "text/plain")
            case _ if request.path.startswith("/_lab/"):
                await self._lab(request, answer)
            case _:
                await answer.json(404, {"error": f"{request.method} {request.path} is not here"})

    def _in_use(self) -> list[dict[str, Any]]:
        if self._context_in_use is None:
            return []
        return [protocol.running(self._model, self._since, self._context_in_use)]

    async def _show(self, request: Request, answer: Answer) -> None:
        body = request.json()
        name = (body.get("model") or body.get("name")) if isinstance(body, dict) else None
        if not isinstance(name, str):
            raise BadRequest(400, "model is required")
        if protocol.same_model(name, self._model):
            await answer.json(200, protocol.shown(self._since))
        else:
            await answer.json(404, protocol.not_found(name))

    async def _chat(self, request: Request, answer: Answer) -> None:
        body = request.json()
        chat = protocol.read_chat(body)
        entry = self._ledger.receive(request.body, body)
        try:
            how = await self._answer(chat, answer, entry)
        except asyncio.CancelledError:
            self._ledger.end(entry, "client gone" if answer.client_gone else "stopped")
            raise
        except Exception:
            self._ledger.end(entry, "failed")
            raise
        self._ledger.end(entry, how)

    async def _answer(self, chat: ChatRequest, answer: Answer, entry: Received) -> str:
        if not protocol.same_model(chat.model, self._model):
            await answer.json(404, protocol.not_found(chat.model))
            return "failed"
        self._context_in_use = chat.context
        if not chat.messages:  # how a client asks that the model be loaded
            await answer.json(200, protocol.loaded(chat.model))
            return "done"
        seen, entry.dropped = protocol.fit(chat)
        return await generate(
            self._reply(chat, seen, entry),
            chat,
            answer,
            tempo=self._tempo,
            entry=entry,
            prompt=protocol.estimate_tokens([*seen, *chat.tools]),
        )

    def _reply(self, chat: ChatRequest, seen: tuple[dict[str, Any], ...], entry: Received) -> Reply:
        turn = self._script.popleft() if self._script else None
        if turn is not None:
            entry.answered_by = "script"
        if turn is not None and turn.parts is not None:
            return Reply(parts=turn.parts, ending=turn.ending)
        understood = _understand(seen, chat.tools, sample=entry.sample)
        return understood if turn is None else Reply(parts=understood.parts, ending=turn.ending)

    async def _lab(self, request: Request, answer: Answer) -> None:
        match request.method, request.path.removeprefix("/_lab/").split("/"):
            case "POST", ["script"]:
                self._script = deque(_turns(_field(request, "turns")))
                await answer.json(200, {"turns": len(self._script)})
            case "GET", ["requests"]:
                await answer.json(200, {"requests": await self._requests(_wanted(request, 0))})
            case "GET", ["requests", number] if number.isdecimal():
                await answer.json(200, await self._ended(int(number)))
            case "DELETE", ["requests"]:
                self._ledger.clear()
                await answer.json(200, {})
            case "POST", ["pace"]:
                rate = _field(request, "tokens_per_second")
                self._tempo.tokens_per_second = self._rate(rate)
                await answer.json(200, {"tokens_per_second": self._tempo.tokens_per_second})
            case "POST", ["hold"]:
                self._tempo.hold(_count(_field(request, "after_tokens")))
                await answer.json(200, {})
            case "POST", ["release"]:
                self._tempo.release()
                await answer.json(200, {})
            case "GET", ["held"]:
                await answer.json(200, {"held": await self._held(_wanted(request, 1))})
            case _:
                await answer.json(404, {"error": f"{request.method} {request.path} is not here"})

    async def _requests(self, at_least: int) -> list[dict[str, Any]]:
        requests = self._ledger.requests
        await self._ledger.changed.until(lambda: len(requests) >= at_least)
        return [entry.as_json() for entry in requests]

    async def _held(self, at_least: int) -> int:
        await self._tempo.changed.until(lambda: self._tempo.held >= at_least)
        return self._tempo.held

    async def _ended(self, number: int) -> dict[str, Any]:
        def ended() -> bool:
            entry = self._ledger.find(number)
            return entry is not None and entry.ended is not None

        await self._ledger.changed.until(ended)
        entry = self._ledger.find(number)
        assert entry is not None
        return entry.as_json()

    def _rate(self, value: Any) -> float:
        if value is None:
            return self._tempo.started_with
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not 0 <= value <= FASTEST
        ):
            raise BadRequest(400, f"tokens_per_second is a number from 0 to {FASTEST:,}, or null")
        return value


def _understand(
    messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, sample: int
) -> Reply:
    # Deferred for start-up time: its goals and patterns take as long to load as all the rest, and
    # nobody waits for them while the owner reads the ready file.
    from lab.model.understanding import understand  # noqa: PLC0415 -- see above

    return understand(messages, tools, sample=sample)


def _field(request: Request, name: str) -> Any:
    body = request.json()
    if not isinstance(body, dict) or body.keys() != {name}:
        raise BadRequest(400, f'The body is {{"{name}": …}} and nothing more.')
    return body[name]


def _wanted(request: Request, otherwise: int) -> int:
    text = request.query.get("at_least", str(otherwise))
    return _count(int(text) if text.isascii() and text.isdecimal() else None)


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise BadRequest(400, "That is counted in whole numbers from 0 up.")
    return value


def _turns(value: Any) -> list[ScriptedTurn]:
    try:
        return read_script(value)
    except ScriptError as error:
        raise BadRequest(400, str(error)) from error
