"""The body of a request: how large, how long, and JSON in only one reading."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.types import Receive

from sophos.errors import BadRequest, MessageTooLarge, UnsupportedMediaType

# The longest message is 100,000 characters; JSON may escape each as two \uXXXX, twelve bytes.
BODY_LIMIT: Final = 1_250_000  # bytes
BODY_SECONDS: Final = 30.0  # for the whole body to arrive
_TOO_LARGE: Final = (
    f"The body is too large. A message has at most 100,000 characters, a body {BODY_LIMIT:,} bytes."
)
_ENCODED: Final = "The body must be JSON as it is. Send it without Content-Encoding."


async def read_body(
    headers: Mapping[bytes, bytes], receive: Receive, seconds: float = BODY_SECONDS
) -> bytes | None:
    """The body, read and checked; None if the request has none or its sender has gone.

    Raises UnsupportedMediaType and MessageTooLarge before reading what need not be read, and
    BadRequest for anything but JSON that every reader reads alike.
    """
    length = int(headers.get(b"content-length", b"0"))
    if length == 0 and b"transfer-encoding" not in headers:
        return None
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != b"application/json":
        raise UnsupportedMediaType
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise UnsupportedMediaType(_ENCODED)
    if length > BODY_LIMIT:
        raise MessageTooLarge(_TOO_LARGE)
    try:
        async with asyncio.timeout(seconds):
            body = await _collect(receive)
    except TimeoutError as error:
        raise BadRequest(f"The body did not arrive within {seconds:g} seconds.") from error
    if body:
        check_json(body)
    return body


async def _collect(receive: Receive) -> bytes | None:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > BODY_LIMIT:
            raise MessageTooLarge(_TOO_LARGE)
        if not message.get("more_body", False):
            return bytes(body)


def check_json(body: bytes) -> None:
    """Refuse what two readers of JSON may read differently, or cannot write down again."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_no_constant
        )
        if b"\\u" in body:
            # A lone surrogate can be escaped in JSON and cannot be stored as text.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError as error:
        raise BadRequest("The body is not valid UTF-8, or holds half a surrogate pair.") from error
    except json.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error.msg} at {error.pos}.") from error
    except (ValueError, RecursionError) as error:
        raise BadRequest("The body is not JSON that can be read: too deep or too long.") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadRequest("The body names the same field twice.")
    return fields


def _no_constant(word: str) -> float:
    raise BadRequest(f"The body is not JSON: {word} is not a JSON value.")
