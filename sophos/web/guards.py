"""Who may ask, from where, and with what: checked before any route sees the request.

One pure ASGI middleware. It holds no state; every answer carries its headers. What comes after it
sees the request as the browser made it (`forwarded.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sophos.errors import ForbiddenHost, ForbiddenOrigin, SophosError
from sophos.settings import is_loopback
from sophos.variables import Network
from sophos.web import sign_in
from sophos.web.bodies import FORM, JSON, read_body
from sophos.web.door import Door
from sophos.web.forwarded import as_asked
from sophos.web.problems import problem

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HEALTH: Final = "/api/healthz"
DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
SECURITY_HEADERS: Final = {
    # Nothing but what this server serves itself: no inline script or style, no remote image; and
    # of the page's own script, only the one place that takes HTML the server has sanitised.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
        " require-trusted-types-for 'script'; trusted-types sophos-record"
    ),
    "X-Content-Type-Options": "nosniff",
    # Not no-referrer: under that a browser sends its own forms with `Origin: null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
Headers = list[tuple[bytes, bytes]]

_HOST: Final = re.compile(r"(?P<name>\[[^][]*\]|[^][:]*)(:[0-9]*)?")

_HEADERS: Final[Headers] = [
    (name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()
]


class Guards:
    """`door` is None where no token is set: then everyone who reaches the server may ask."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        door: Door | None = None,
        allowed_hosts: frozenset[str] = frozenset(),
        trusted_proxies: Sequence[Network] = (),
        root_path: str = "",
    ) -> None:
        self._app = app
        self._door = door
        self._allowed_hosts = allowed_hosts
        self._trusted_proxies = trusted_proxies
        self._root_path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = as_asked(scope, trusted=self._trusted_proxies, root_path=self._root_path)

        async def guarded_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = _with_ours(asked["path"], message["headers"])
            await send(message)

        try:
            # Both, where they differ: what reached us, and what the proxy says the browser asked.
            check_host(dict(scope["headers"]), self._allowed_hosts)
            receive = await self._admit(asked, receive)
        except SophosError as error:
            # What is still to come of the body is thrown away as it comes. Closing the connection
            # under a sender would take the answer from it.
            await problem(error)(asked, receive, guarded_send)
        else:
            await self._app(asked, receive, guarded_send)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        check_host(headers, self._allowed_hosts)
        if self._door is not None and needs_token(scope["path"]):
            self._door.admit(headers, scope["client"][0] if scope["client"] else "")
        if scope["method"] in SAFE_METHODS:
            return receive
        check_origin(headers, scope["scheme"])
        kind = FORM if scope["path"] == sign_in.PATH else JSON
        body = await read_body(headers, receive, kind=kind)
        return receive if body is None else _replay(body, receive)


def check_host(headers: Mapping[bytes, bytes], allowed: frozenset[str]) -> None:
    """Raises ForbiddenHost unless the Host is a loopback name or address, or an allowed name.

    A page whose name is made to resolve to this machine sends its own name here.
    """
    host = _HOST.fullmatch(headers.get(b"host", b"").decode("latin-1").lower())
    name = host["name"].strip("[]") if host is not None else ""
    if not is_loopback(name) and name not in allowed:
        raise ForbiddenHost


def check_origin(headers: Mapping[bytes, bytes], scheme_here: str = "http") -> None:
    """Raises ForbiddenOrigin if a browser says that another origin's page sent this."""
    if headers.get(b"sec-fetch-site", b"none") not in {b"same-origin", b"none"}:
        raise ForbiddenOrigin
    if b"origin" not in headers:
        return  # not a browser, or one that says so by other headers
    scheme, _, authority = headers[b"origin"].decode("latin-1").lower().partition("://")
    host = headers.get(b"host", b"").decode("latin-1").lower()
    # Where a proxy says that it ended TLS. One that does not: the page is https, and this is http.
    if scheme_here == "https" != scheme:
        raise ForbiddenOrigin
    port = DEFAULT_PORTS.get(scheme)
    if port is None or authority.removesuffix(f":{port}") != host.removesuffix(f":{port}"):
        raise ForbiddenOrigin


def needs_token(path: str) -> bool:
    return path.startswith("/api") and path != HEALTH


def _with_ours(path: str, headers: Headers) -> Headers:
    if any(name == b"cache-control" for name, _ in headers):
        return [*headers, *_HEADERS]
    # The record must not lie in a cache; a page is asked for again and answered with 304.
    value = b"no-store" if path.startswith("/api") else b"no-cache"
    return [*headers, *_HEADERS, (b"cache-control", value)]


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read ahead, once; then whatever the connection says."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return first.pop() if first else await receive()

    return replayed
