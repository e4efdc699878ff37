"""Ollama's HTTP protocol, as far as a chat needs it: what comes in, what goes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from lab.http.request import BadRequest

VERSION: Final = "0.12.0"  # of the protocol that is spoken here
CONTEXT_LENGTH: Final = 40_960  # tokens the model could have
DEFAULT_CONTEXT: Final = 4096  # tokens, when a request does not say `num_ctx`
CHARACTERS_PER_TOKEN: Final = 4  # an estimate; there is no tokenizer here
CAPABILITIES: Final = ("completion", "tools", "thinking")
DETAILS: Final = {
    "parent_model": "",
    "format": "scripted",
    "family": "scripted",
    "families": ["scripted"],
    "parameter_size": "0",
    "quantization_level": "none",
}
DIGEST: Final = "0" * 64
NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """A body of POST /api/chat. `limit` is `num_predict`: None means no limit."""

    model: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...]
    stream: bool
    think: bool
    context: int
    limit: int | None


def read_chat(body: Any) -> ChatRequest:
    """Raises BadRequest for a body that Ollama would not take."""
    if not isinstance(body, dict):
        raise BadRequest(400, "the body must be a JSON object")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise BadRequest(400, "model is required")
    options = body.get("options") or {}
    if not isinstance(options, dict):
        raise BadRequest(400, "options must be an object")
    limit = options.get("num_predict")
    return ChatRequest(
        model=body["model"],
        messages=_objects(body, "messages"),
        tools=_objects(body, "tools"),
        stream=body.get("stream") is not False,
        # A model that can think does so unless it is told not to.
        think=body.get("think") not in (False, "false"),
        context=options["num_ctx"] if isinstance(options.get("num_ctx"), int) else DEFAULT_CONTEXT,
        limit=limit if isinstance(limit, int) and limit >= 0 else None,
    )


def _objects(body: dict[str, Any], field: str) -> tuple[dict[str, Any], ...]:
    values = body.get(field) or []
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise BadRequest(400, f"{field} must be a list of objects")
    return tuple(values)


def same_model(asked: str, have: str) -> bool:
    """`qwen3` is `qwen3:latest`."""
    return asked.removesuffix(":latest") == have.removesuffix(":latest")


def not_found(model: str) -> dict[str, str]:
    return {"error": f"model '{model}' not found"}


def estimate_tokens(values: Sequence[Any]) -> int:
    return sum(len(json.dumps(value)) for value in values) // CHARACTERS_PER_TOKEN


def fit(request: ChatRequest) -> tuple[tuple[dict[str, Any], ...], int]:
    """What of the messages the model sees, and how many it does not.

    As Ollama does it, without a word: system messages and the newest message stay, and the oldest
    others go until the rest fits into the context.
    """
    messages = request.messages
    sizes = [estimate_tokens([message]) for message in messages]
    room = request.context - estimate_tokens(request.tools)
    kept = set(range(len(messages)))
    excess = sum(sizes) - room
    for index, message in enumerate(messages[:-1]):
        if excess <= 0:
            break
        if message.get("role") != "system":
            kept.discard(index)
            excess -= sizes[index]
    return tuple(messages[index] for index in sorted(kept)), len(messages) - len(kept)


def now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


def piece(model: str, message: str) -> str:
    """One line of a streamed reply; `message` is JSON."""
    return (
        f'{{"model": {json.dumps(model)}, "created_at": "{now()}",'
        f' "message": {message}, "done": false}}'
    )


@dataclass(frozen=True, kw_only=True)
class Count:
    """What a finished reply took: tokens, and seconds before and after its first one."""

    prompt: int
    reply: int
    reading: float
    writing: float


def last(model: str, message: dict[str, Any], reason: str, count: Count) -> dict[str, Any]:
    """The line that says `done`, or the whole body of a reply that is not streamed."""
    return {
        "model": model,
        "created_at": now(),
        "message": message,
        "done_reason": reason,
        "done": True,
        "total_duration": int((count.reading + count.writing) * NANOSECONDS),
        "load_duration": 0,
        "prompt_eval_count": count.prompt,
        "prompt_eval_duration": int(count.reading * NANOSECONDS),
        "eval_count": count.reply,
        "eval_duration": int(count.writing * NANOSECONDS),
    }


def loaded(model: str) -> dict[str, Any]:
    """The answer to a request without messages."""
    return {
        "model": model,
        "created_at": now(),
        "message": {"role": "assistant", "content": ""},
        "done_reason": "load",
        "done": True,
    }


def described(model: str, since: str) -> dict[str, Any]:
    """The model as /api/tags lists it."""
    name = model if ":" in model else f"{model}:latest"
    return {
        "name": name,
        "model": name,
        "modified_at": since,
        "size": 0,
        "digest": DIGEST,
        "details": DETAILS,
    }


def running(model: str, since: str, context: int) -> dict[str, Any]:
    """The model as /api/ps lists it once it was used."""
    entry = described(model, since)
    del entry["modified_at"]
    return {**entry, "expires_at": since, "size_vram": 0, "context_length": context}


def shown(since: str) -> dict[str, Any]:
    """The model as /api/show describes it."""
    return {
        "license": "",
        "modelfile": "# A scripted stand-in for a language model. There are no weights.",
        "parameters": "",
        "template": "",
        "details": DETAILS,
        "model_info": {
            "general.architecture": "scripted",
            "general.parameter_count": 0,
            "scripted.context_length": CONTEXT_LENGTH,
        },
        "capabilities": list(CAPABILITIES),
        "modified_at": since,
    }
