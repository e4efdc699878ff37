"""python -m sophos: read the settings, take the port, open the runtime, serve."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import fields
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from sophos.errors import SophosError, StartupError
from sophos.importing import uncollected
from sophos.log import log_to_stderr
from sophos.protections import ROWS, Protection, Protections
from sophos.settings import PROTECT_PREFIX, Settings
from sophos.tracing import withhold
from sophos.web.listener import listen
from sophos.web.ready_file import prepare

if TYPE_CHECKING:
    # For their names alone: what they import is slow, and `main` says when that is done.
    from sophos.web.opened import Runtime
    from sophos.web.server import Opening

REFUSED: Final = 2  # the exit code when the process does not start, or cannot go on
INTERRUPTED: Final = 130  # as a shell tells of SIGINT

logger = logging.getLogger("sophos")


async def open_later(settings: Settings, boot_id: str) -> AbstractAsyncContextManager[Runtime]:
    """Import the runtime in a thread, while healthz answers."""

    def opened() -> AbstractAsyncContextManager[Runtime]:
        # Deferred for start-up time: SQLite's saver brings LangGraph with it.
        with uncollected():
            from sophos.runtime.lifecycle import open_runtime  # noqa: PLC0415

        return open_runtime(settings, boot_id=boot_id)

    return await asyncio.to_thread(opened)


def main(argv: Sequence[str] | None = None, *, opening: Opening = open_later) -> int:
    """Returns the exit code. `opening` is another runtime's, in tests."""
    arguments = _parser().parse_args(argv)
    if arguments.version:
        _tell([f"sophos {version('sophos')}"])
        return 0
    try:
        if arguments.settings:
            _tell(_settings_lines())
            return 0
        settings = Settings.read(os.environ)
        if arguments.protections:
            _tell(_protection_lines(settings.protections))
            return 0
        _serve(settings, opening)
    except SophosError as error:
        sys.stderr.write(f"sophos: {error.message}\n")
        return REFUSED
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"sophos: {error.name} is not installed for {sys.executable}."
            " Set up with `python3 -m lab setup`, then run `.venv/bin/python -m sophos`.\n"
        )
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _serve(settings: Settings, opening: Opening) -> None:
    if settings.owner_pipe is not None and sys.stdin is None:
        raise StartupError("SOPHOS_OWNER_PIPE is set, but there is no standard input to watch.")
    if settings.ready_file is not None:
        prepare(settings.ready_file)
    listener = listen(settings.host, settings.port)
    log_to_stderr()
    for name in settings.protections.names_off():
        shows = ROWS[Protection(name)].absence_shows
        logger.warning("A protection is off.", extra={"protection": name, "shows": shows})
    if not settings.tracing and withhold(os.environ):
        logger.warning("Tracing is asked for and withheld.", extra={"setting": "SOPHOS_TRACING"})
    # Deferred for start-up time: a setting that cannot be used is told before FastAPI is imported.
    with uncollected():
        from sophos.web.server import serve  # noqa: PLC0415

    asyncio.run(serve(settings, listener, str(uuid.uuid4()), opening))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sophos",
        allow_abbrev=False,
        description="A small durable agent runtime. Settings come from the environment.",
    )
    parser.add_argument(
        "--settings", action="store_true", help="list every setting and its default"
    )
    parser.add_argument(
        "--protections", action="store_true", help="list what can be switched off, and what is"
    )
    parser.add_argument("--version", action="store_true", help="tell the version")
    return parser


def _tell(lines: Iterable[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")


def _settings_lines() -> Iterator[str]:
    for row in fields(Settings):
        if row.metadata:
            shown = _shown(row.default)
            yield f"{row.metadata['variable']} ({shown})\n    {row.metadata['meaning']}"
    for protection in Protection:
        yield f"{PROTECT_PREFIX}{protection} (on)\n    Off shows: {ROWS[protection].absence_shows}."


def _shown(default: object) -> str:
    if default in (None, "", (), frozenset()):
        return "not set"
    return str(default).lower() if isinstance(default, bool) else str(default)


def _protection_lines(protections: Protections) -> Iterator[str]:
    for protection, row in ROWS.items():
        state = "on" if protections.on(protection) else "OFF"
        yield (
            f"{protection} is {state}\n    {row.prevents[0].upper()}{row.prevents[1:]}.\n"
            f"    Off shows: {row.absence_shows}.\n    {PROTECT_PREFIX}{protection}=off"
        )


if __name__ == "__main__":
    sys.exit(main())
