"""The lab that runs from this checkout: who it is and where its pages are.

Durable: session.json, which means nothing unless the session's lock is held. The lock is let go
by the operating system when the lab ends, however it ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Session:
    """`pages` maps what a page is to its URL. JupyterLab's holds its token."""

    pid: int
    model: str
    pages: dict[str, str]

    def lines(self) -> Iterator[str]:
        """What a person needs to see."""
        for name, url in self.pages.items():
            yield f"  {name:<12} {url}"
        yield f"  {'Model':<12} {self.model}"


def write_session(path: Path, session: Session) -> None:
    """Put the file in place whole, readable by this user alone."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(asdict(session)), encoding="utf-8")
    draft.replace(path)


def read_session(path: Path) -> Session | None:
    """The session on record; None if there is none."""
    try:
        return Session(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
