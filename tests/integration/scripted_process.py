"""`python -m sophos` with a scripted runtime; OLLAMA_MODEL says in which way it misbehaves.

Every run says two words and then stands still.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from sophos.__main__ import main
from sophos.errors import StartupError
from sophos.events import Token
from sophos.settings import Settings
from sophos.testing.runtime import ScriptedRuntime
from sophos.testing.thread import HOLD


class NeverDrains(ScriptedRuntime):
    async def drain(self) -> None:
        tell("draining")
        await asyncio.Event().wait()


def tell(words: str) -> None:
    sys.stderr.write(f"{words}\n")


@asynccontextmanager
async def scripted(settings: Settings, boot_id: str) -> AsyncIterator[ScriptedRuntime]:
    model = settings.ollama_model
    if model == "refuse-to-open":
        raise StartupError("The database is in use by another server. Stop that server.")
    if model == "never-opens":
        tell("opening")
        await asyncio.Event().wait()
    words = [Token(text=text, kind="answer", step=1, message_id="m") for text in ("two ", "words")]
    kind = NeverDrains if model == "never-drains" else ScriptedRuntime
    yield kind([*words, HOLD], boot_id=boot_id, ready=model != "not-there")
    tell("runtime closed")


async def opening(settings: Settings, boot_id: str) -> AbstractAsyncContextManager[ScriptedRuntime]:
    return scripted(settings, boot_id)


if __name__ == "__main__":
    sys.exit(main(opening=opening))
