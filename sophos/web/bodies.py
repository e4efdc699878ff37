"""The body of a request: how large, how long, and JSON in only one reading."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.types import Receive

from sophos.errors import BadRequest, MessageTooLarge, UnsupportedMediaType

# The longest message is 100,000 characters; JSON may escape each as two \uXXXX, twelve bytes.
BODY_LIMIT: Final = 1_250_000  # bytes
BODY_SECONDS: Final = 30.0  # for the whole body to arrive
FORM_LIMIT: Final = 4096  # bytes; a form holds one token


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a body must be. `limit` is in bytes; the texts say what to do about another one."""

    media_type: bytes
    limit: int
    unsupported: str | None
    too_large: str


JSON: Final = Kind(
    media_type=b"application/json",
    limit=BODY_LIMIT,
    unsupported=None,
    too_large=(
        "The body is too large."
        f" A message has at most 100,000 characters, a body {BODY_LIMIT:,} bytes."
    ),
)
FORM: Final = Kind(
    media_type=b"application/x-www-form-urlencoded",
    limit=FORM_LIMIT,
    unsupported="The body must be a form, as the sign-in page sends it.",
    too_large=f"The form is too large. It may have {FORM_LIMIT:,} bytes.",
)
_ENCODED: Final = "The body must come as it is. Send it without Content-Encoding."


async def read_body(
    headers: Mapping[bytes, bytes],
    receive: Receive,
    seconds: float = BODY_SECONDS,
    *,
    kind: Kind = JSON,
) -> bytes | None:
    """The body, read and checked; None if the request has none or its sender has gone.

    Raises UnsupportedMediaType and MessageTooLarge before reading what need not be read, and
    BadRequest for anything but JSON that every reader reads alike.
    """
    length = int(headers.get(b"content-length", b"0"))
    if length == 0 and b"transfer-encoding" not in headers:
        return None
    media_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if media_type != kind.media_type:
        raise UnsupportedMediaType(kind.unsupported)
    if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
        raise UnsupportedMediaType(_ENCODED)
    if length > kind.limit:
        raise MessageTooLarge(kind.too_large)
    try:
        async with asyncio.timeout(seconds):
            body = await _collect(receive, kind)
    except TimeoutError as error:
        raise BadRequest(f"The body did not arrive within {seconds:g} seconds.") from error
    if body and kind is JSON:
        check_json(body)
    return body


async def _collect(receive: Receive, kind: Kind) -> bytes | None:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > kind.limit:
            raise MessageTooLarge(kind.too_large)
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
