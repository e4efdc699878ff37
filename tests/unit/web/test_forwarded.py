"""Whose word counts about who asked, how, and whom."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from sophos.web.forwarded import as_asked, below

PROXY, STRANGER = "127.0.0.1", "203.0.113.9"
TRUSTED = (ipaddress.ip_network("127.0.0.1"), ipaddress.ip_network("10.0.0.0/8"))
FORWARDED = {
    "x-forwarded-for": "198.51.100.7",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "class.example",
}


def asked(headers: dict[str, str], *, peer: str = PROXY, path: str = "/") -> dict[str, Any]:
    """What is told on, as `for`, `proto`, `host` and `path`."""
    pairs = [(b"host", b"127.0.0.1:5173")]
    pairs += [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"client": (peer, 1), "scheme": "http", "path": path, "headers": pairs}
    told = as_asked(scope, trusted=TRUSTED, root_path="/sophos")
    hosts = [value.decode("latin-1") for name, value in told["headers"] if name == b"host"]
    return {
        "for": told["client"][0],
        "proto": told["scheme"],
        "host": ", ".join(hosts),
        "path": told["path"],
    }


def test_a_trusted_proxys_word_counts() -> None:
    told = asked(FORWARDED)
    assert (told["for"], told["proto"], told["host"]) == ("198.51.100.7", "https", "class.example")


@pytest.mark.parametrize("peer", [STRANGER, "::1", "192.168.0.1", "", "unix:"])
def test_anyone_elses_does_not(peer: str) -> None:
    told = asked(FORWARDED, peer=peer)
    assert (told["for"], told["proto"], told["host"]) == (peer, "http", "127.0.0.1:5173")


def test_a_trusted_proxy_is_known_by_its_address_in_either_form() -> None:
    assert asked(FORWARDED, peer="::ffff:127.0.0.1")["proto"] == "https"


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("1.1.1.1, 198.51.100.7", "198.51.100.7"),
        ("1.1.1.1, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("10.0.0.3, 10.0.0.2", PROXY),
        ("1.1.1.1, unknown", PROXY),
        ("198.51.100.7:4711", PROXY),
        ("", PROXY),
    ],
)
def test_the_caller_is_the_last_address_that_no_proxy_of_ours_has(chain: str, client: str) -> None:
    assert asked({"x-forwarded-for": chain})["for"] == client


@pytest.mark.parametrize("word", ["", "ftp", "https://", "HTTPS "])
def test_a_scheme_is_http_or_https(word: str) -> None:
    told = asked({"x-forwarded-proto": word})["proto"]
    assert told == ("https" if word.strip() == "HTTPS" else "http")


def test_the_browsers_own_scheme_and_host_come_first_in_a_chain() -> None:
    headers = {"x-forwarded-proto": "https,http", "x-forwarded-host": "class.example, inner"}
    told = asked(headers)
    assert (told["proto"], told["host"]) == ("https", "class.example")


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/sophos/", "/"),
        ("/sophos/api/chat", "/api/chat"),
        ("/api/chat", "/api/chat"),
        ("/sophos/sophos/api/chat", "/sophos/api/chat"),
        ("/sophosx/api/chat", "/sophosx/api/chat"),
        ("/sophos", "/sophos"),
    ],
)
def test_a_prefix_is_taken_off_once_if_it_is_there(path: str, inside: str) -> None:
    assert asked({}, path=path)["path"] == inside
    assert below("", path) == path
