"""The ready file: where a process that waits for this one reads its address.

It appears whole when the server serves and is gone before it stops. A process that is killed
leaves it behind; the next start removes it before it does anything else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sophos.errors import StartupError


def prepare(path: Path) -> None:
    """Remove what an earlier process left, and see that the file can be written later."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StartupError(f"SOPHOS_READY_FILE cannot be used: {error.strerror}.") from error


@contextmanager
def announced(path: Path | None, facts: dict[str, Any]) -> Iterator[None]:
    """Keep `facts` in the file for the length of the block."""
    if path is None:
        yield
        return
    text = json.dumps(facts)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StartupError(f"SOPHOS_READY_FILE cannot be written: {error.strerror}.") from error
    try:
        yield
    finally:
        # Only our own: another process may have been given the same name meanwhile. And whatever
        # became of it, a stop goes on.
        with suppress(OSError, UnicodeDecodeError):
            if path.read_text(encoding="utf-8") == text:
                path.unlink()
