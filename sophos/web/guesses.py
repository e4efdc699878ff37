"""How often a wrong token came from where: what makes guessing slow.

Held in memory, for so many addresses at most; it dies with the process, as the guesser's progress
does not matter: a token has at least 12 characters.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

from sophos.errors import TooManyGuesses

MOST: Final = 10  # wrong tokens from one address within the window
WINDOW: Final = 60.0  # seconds
ADDRESSES: Final = 4096  # that are remembered; the one that was quiet longest is forgotten first


class Guesses:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def refuse_too_many(self, address: str) -> None:
        """Raises TooManyGuesses, with the seconds to wait, while this address has used its guesses."""
        times = self._wrong.get(_neighbourhood(address), deque())
        now = self._clock()
        while times and times[0] <= now - WINDOW:
            times.popleft()
        if len(times) >= MOST:
            raise TooManyGuesses(wait=math.ceil(times[0] + WINDOW - now))

    def count(self, address: str) -> None:
        """A wrong token came from here."""
        name = _neighbourhood(address)
        self._wrong.setdefault(name, deque(maxlen=MOST)).append(self._clock())
        self._wrong.move_to_end(name)
        if len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)


def _neighbourhood(address: str) -> str:
    """One machine's address; of IPv6 the network, of which a machine has every address.

    An IPv4 address may come written as an IPv6 one, to a socket that listens for both: all of those
    are one network, and one guesser in it would be everybody.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
