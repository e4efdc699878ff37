"""`python -m sophos` with a scripted runtime: every run says two words and then stands still."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from sophos.__main__ import main
from sophos.errors import StartupError
from sophos.events import Token
from sophos.settings import Settings
from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD


@asynccontextmanager
async def scripted(boot_id: str, *, ready: bool) -> AsyncIterator[ScriptedRuntime]:
    words = [Token(text=text, kind="answer", step=1, message_id="m") for text in ("two ", "words")]
    yield ScriptedRuntime([*words, HOLD], boot_id=boot_id, ready=ready)
    sys.stderr.write("runtime closed\n")


async def opening(settings: Settings, boot_id: str) -> AbstractAsyncContextManager[ScriptedRuntime]:
    if settings.ollama_model == "refuse-to-open":
        raise StartupError("The database is in use by another server. Stop that server.")
    return scripted(boot_id, ready=settings.ollama_model != "not-there")


if __name__ == "__main__":
    sys.exit(main(opening=opening))
