"""Short names for what has a different id in every run: `conversation 1`, `run 2`, `call 3`.

A thing keeps its name for as long as the bench lives, also when others before it are deleted.
The names die with the bench.
"""

from __future__ import annotations

from collections import defaultdict


class Names:
    """Numbers things from 1, kind by kind, in the order in which they are first named."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, dict[str, int]] = defaultdict(dict)

    def of(self, kind: str, identity: str | None, *, among: str = "") -> str:
        """`<kind> <number>`, or "" for nothing; counted separately within `among`."""
        if identity is None:
            return ""
        numbers = self._numbers[f"{kind} {among}"]
        return f"{kind} {numbers.setdefault(identity, len(numbers) + 1)}"

    def identity(self, name: str) -> str:
        """The id behind a name; what is no name is an id already."""
        kind, _, number = name.rpartition(" ")
        for identity, known in self._numbers[f"{kind} "].items():
            if str(known) == number:
                return identity
        return name
