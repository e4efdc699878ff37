"""A session: what a browser holds once its person has shown the token.

A cookie that says until when it holds, signed with a key made from the token. Nothing of it is kept
here, so it outlives a killed server; it ends at its time, or for everybody when the token changes
(docs/decisions/0013). Which ones were ended before their time is in memory, and dies with the process.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator
from typing import Final

COOKIE: Final = "sophos_session"
LASTS: Final = 12 * 3600  # seconds: a day of teaching
# Whoever got hold of a cookie could guess tokens against it: each guess costs this many rounds.
ROUNDS: Final = 100_000
_NAME_BYTES: Final = 8  # random: two that were issued in one second are still two
_VALUE: Final = re.compile(
    r"(?P<claim>(?P<until>[0-9]{1,12})\.[0-9a-f]{16})\.(?P<signature>[0-9a-f]{64})"
)


class Sessions:
    def __init__(self, token: str) -> None:
        self._key = hashlib.pbkdf2_hmac("sha256", token.encode(), b"sophos session", ROUNDS)
        self._ended: dict[str, int] = {}  # until when each would have held

    def issue(self, now: float) -> str:
        """A session from now on."""
        claim = f"{int(now) + LASTS}.{secrets.token_hex(_NAME_BYTES)}"
        return f"{claim}.{self._signature(claim)}"

    def holds(self, value: str, now: float) -> bool:
        """Whether this is a session that was issued for this token and has not ended."""
        found = _VALUE.fullmatch(value)
        if found is None or value in self._ended:
            return False
        genuine = hmac.compare_digest(found["signature"], self._signature(found["claim"]))
        return genuine and now < int(found["until"])

    def end(self, value: str, now: float) -> None:
        """End a session before its time; what is none that holds changes nothing."""
        if self.holds(value, now):
            self._ended = {ended: until for ended, until in self._ended.items() if now < until}
            self._ended[value] = int(value.partition(".")[0])

    def _signature(self, claim: str) -> str:
        return hmac.new(self._key, f"session {claim}".encode(), hashlib.sha256).hexdigest()


def sessions_in(cookies: str) -> Iterator[str]:
    """Every session of a Cookie header; one browser may hold several, from several paths."""
    for pair in cookies.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            yield value
