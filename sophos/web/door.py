"""The door: who holds the token, by sending it each time or by a session that it once gave.

What it remembers dies with the process: the wrong guesses (`guesses.py`), and which sessions were
ended (`sessions.py`).
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterator, Mapping

from sophos.errors import Unauthorised
from sophos.web.guesses import Guesses
from sophos.web.sessions import Sessions, sessions_in


class Door:
    """`clock` gives the seconds since the epoch: a session outlives the process."""

    def __init__(
        self, token: str, *, guesses: Guesses | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._token = token.encode()
        self._sessions = Sessions(token)
        self._guesses = guesses or Guesses()
        self._clock = clock

    def admit(self, headers: Mapping[bytes, bytes], address: str) -> None:
        """Raises Unauthorised, or TooManyGuesses for a token from where too many wrong ones came.

        A session cannot be guessed, so it holds whatever else comes from its address.
        """
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer":
            self._compare(given.strip(), address)
        elif not self.has_session(headers):
            raise Unauthorised

    def has_session(self, headers: Mapping[bytes, bytes]) -> bool:
        now = self._clock()
        return any(self._sessions.holds(value, now) for value in _sessions_of(headers))

    def sign_in(self, given: str, address: str) -> str:
        """A session for the right token. Raises Unauthorised or TooManyGuesses."""
        self._compare(given.strip().encode(), address)
        return self._sessions.issue(self._clock())

    def sign_out(self, headers: Mapping[bytes, bytes]) -> None:
        """End every session that the browser sends: a copy of one is refused from now on."""
        for value in _sessions_of(headers):
            self._sessions.end(value, self._clock())

    def _compare(self, given: bytes, address: str) -> None:
        # Refused before it is compared: the right token, too, or guessing would go on at full speed.
        self._guesses.refuse_too_many(address)
        if not hmac.compare_digest(given, self._token):
            self._guesses.count(address)
            raise Unauthorised


def _sessions_of(headers: Mapping[bytes, bytes]) -> Iterator[str]:
    return sessions_in(headers.get(b"cookie", b"").decode("latin-1"))
