"""What a variable's text means: one function for each kind of value.

Each raises ValueError that says what to write; the one for a token never repeats the text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

OLLAMA_PORT: Final = 11_434
WORDS: Final = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
_PREFIX: Final = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_TOKEN: Final = re.compile(r"[\x21-\x7e]{12,200}")


def truth(text: str) -> bool:
    if text.lower() not in WORDS:
        raise ValueError("write true or false")
    return WORDS[text.lower()]


def number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise ValueError(f"write a whole number from {least} to {most}")
        return int(text)

    return parse


def seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 86_400:
        raise ValueError("write seconds, more than 0 and at most 86400")
    return value


def url(text: str) -> str:
    # A bare host is read as Ollama's own tools read it: over HTTP, on Ollama's port.
    parts = urlsplit(text if "://" in text else f"http://{text}")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("write a URL like http://localhost:11434")
    if "://" not in text and parts.port is None:
        return f"http://{parts.netloc}:{OLLAMA_PORT}"
    return parts.geturl().rstrip("/")


def names(text: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in text.split(",") if name.strip())


def networks(text: str) -> tuple[Network, ...]:
    found = tuple(ipaddress.ip_network(name.strip()) for name in text.split(",") if name.strip())
    if any(network.prefixlen == 0 for network in found):
        raise ValueError("name the proxy's own address, not everybody's")
    return found


def prefix(text: str) -> str:
    if not _PREFIX.fullmatch(text.rstrip("/")):
        raise ValueError("write a path like /sophos")
    return text.rstrip("/")


def token(text: str) -> str:
    if not _TOKEN.fullmatch(text):
        raise ValueError("write 12 to 200 ASCII characters without a space")
    return text


def stdin(text: str) -> str:
    if text != "stdin":
        raise ValueError("the only pipe there is to watch is stdin")
    return text
