"""A request as the browser made it, where a proxy stands between.

A proxy says in X-Forwarded headers who asked (For), how (Proto) and whom (Host). Anyone can send
them, so they count only from an address that SOPHOS_TRUSTED_PROXIES names. Holds nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from starlette.types import Scope

from sophos.variables import Network


def as_asked(scope: Scope, *, trusted: Sequence[Network], root_path: str) -> Scope:
    """`scope` with the path below `root_path`, and with what a trusted proxy says in its place."""
    asked = {**scope, "path": below(root_path, scope["path"])}
    if scope["client"] is None or not _is_in(scope["client"][0], trusted):
        return asked
    chain = _said(scope, b"x-forwarded-for")
    if client := _nearest_stranger(chain, trusted):
        asked["client"] = (client, 0)
    # The first word is the proxy's that the browser spoke to. Wrong, it opens nothing: each host
    # must be an allowed one, and the scheme decides how careful the cookie is.
    if (scheme := _first(scope, b"x-forwarded-proto").lower()) in {"http", "https"}:
        asked["scheme"] = scheme
    if host := _first(scope, b"x-forwarded-host"):
        others = [(name, value) for name, value in scope["headers"] if name != b"host"]
        asked["headers"] = [*others, (b"host", host.encode("latin-1"))]
    return asked


def below(root_path: str, path: str) -> str:
    """A proxy may take its prefix away or leave it on: both are the same path here."""
    if root_path and path.startswith(f"{root_path}/"):
        return path[len(root_path) :]
    return path


def _said(scope: Scope, header: bytes) -> list[str]:
    values = (value.decode("latin-1") for name, value in scope["headers"] if name == header)
    return [word.strip() for word in ",".join(values).split(",")]


def _first(scope: Scope, header: bytes) -> str:
    return _said(scope, header)[0]


def _nearest_stranger(chain: list[str], trusted: Sequence[Network]) -> str | None:
    """The last address that no proxy of ours has: what stands before it, anyone may have written."""
    for address in reversed(chain):
        if not _is_address(address):
            return None
        if not _is_in(address, trusted):
            return address
    return None


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_in(address: str, networks: Sequence[Network]) -> bool:
    if not _is_address(address):
        return False
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in network for network in networks)
