"""A session: what a browser holds once its person has shown the token.

A cookie that says until when it holds, signed with a key made from the token. Nothing of it is kept
here, so it outlives a killed server; it ends at its time, or for everybody when the token changes
(docs/decisions/0013).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from typing import Final

COOKIE: Final = "sophos_session"
LASTS: Final = 12 * 3600  # seconds: a day of teaching
# Whoever got hold of a cookie could guess tokens against it: each guess costs this many rounds.
ROUNDS: Final = 100_000
_VALUE: Final = re.compile(r"(?P<until>[0-9]{1,12})\.(?P<signature>[0-9a-f]{64})")


class Sessions:
    def __init__(self, token: str) -> None:
        self._key = hashlib.pbkdf2_hmac("sha256", token.encode(), b"sophos session", ROUNDS)

    def issue(self, now: float) -> str:
        """A session from now on."""
        until = int(now) + LASTS
        return f"{until}.{self._signature(until)}"

    def holds(self, value: str, now: float) -> bool:
        """Whether this is a session that was issued for this token and has not ended."""
        found = _VALUE.fullmatch(value)
        if found is None:
            return False
        until = int(found["until"])
        genuine = hmac.compare_digest(found["signature"], self._signature(until))
        return genuine and now < until

    def _signature(self, until: int) -> str:
        return hmac.new(self._key, b"session until %d" % until, hashlib.sha256).hexdigest()


def sessions_in(cookies: str) -> Iterator[str]:
    """Every session of a Cookie header; one browser may hold several, from several paths."""
    for pair in cookies.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            yield value
