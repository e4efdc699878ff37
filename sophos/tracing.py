"""What the libraries below would send to a tracing service, and that it stays here unless asked for.

LangChain reads these variables by itself. With one that a shell happens to export, every message,
tool result and tool description of every conversation is sent to another machine.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Final

_READ_BY_LANGCHAIN: Final = ("LANGSMITH_", "LANGCHAIN_")
_SWITCHES: Final = tuple(
    prefix + name for prefix in _READ_BY_LANGCHAIN for name in ("TRACING", "TRACING_V2")
)


def withhold(environ: MutableMapping[str, str]) -> bool:
    """Take the variables out of the environment; whether they had switched tracing on.

    To be called before LangChain is imported: it remembers what it has read.
    """
    asked = any(environ.get(name, "").lower() == "true" for name in _SWITCHES)
    for name in [name for name in environ if name.startswith(_READ_BY_LANGCHAIN)]:
        del environ[name]
    return asked
