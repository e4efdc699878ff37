"""A request as it came: read from bytes, refused with a status and a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

HEAD_LIMIT: Final = 65_536  # bytes
BODY_LIMIT: Final = 64 * 1024 * 1024  # bytes; a long thread is sent whole, once per model call
END_OF_HEAD: Final = b"\r\n\r\n"


class BadRequest(Exception):
    """A request that cannot be answered as asked; `status` and the message are the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request. Header names are lower case."""

    method: str
    path: str
    query_string: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.query_string, keep_blank_values=True))

    def json(self) -> Any:
        """The body as JSON; raises BadRequest when it is not."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise BadRequest(400, f"The body is not JSON: {error}") from error


class RequestReader:
    """Takes whole requests off the bytes of one connection."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._head: Request | None = None
        self._body_length = 0

    def feed(self, data: bytes) -> None:
        self._received += data

    @property
    def expects_continue(self) -> bool:
        """Whether the client waits to be told to send its body."""
        return self._head is not None and "expect" in self._head.headers and not self._received

    def take(self) -> Request | None:
        """The next request; None while it is incomplete. Raises BadRequest."""
        if self._head is None:
            end = self._received.find(END_OF_HEAD)
            if end > HEAD_LIMIT or (end < 0 and len(self._received) > HEAD_LIMIT):
                raise BadRequest(431, "The request's headers are too long.")
            if end < 0:
                return None
            self._head = _parse_head(bytes(self._received[:end]))
            self._body_length = _body_length(self._head.headers)
            del self._received[: end + len(END_OF_HEAD)]
        if len(self._received) < self._body_length:
            return None
        request = replace(self._head, body=bytes(self._received[: self._body_length]))
        del self._received[: self._body_length]
        self._head = None
        return request


def _parse_head(head: bytes) -> Request:
    line, *rest = head.decode("latin-1").split("\r\n")
    method, _, target_and_version = line.partition(" ")
    target, _, version = target_and_version.partition(" ")
    if version != "HTTP/1.1":
        raise BadRequest(400, f"This is not an HTTP/1.1 request: {line[:80]!r}")
    fields = (field.partition(":") for field in rest)
    path = urlsplit(target)
    return Request(
        method=method,
        path=path.path,
        query_string=path.query,
        headers={name.strip().lower(): value.strip() for name, _, value in fields},
    )


def _body_length(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise BadRequest(411, "Send the body whole, with Content-Length.")
    text = headers.get("content-length", "0")
    if not (text.isascii() and text.isdigit()):
        raise BadRequest(400, f"Content-Length is not a number: {text[:80]!r}")
    if int(text) > BODY_LIMIT:
        raise BadRequest(413, f"The body is larger than {BODY_LIMIT:,} bytes.")
    return int(text)
