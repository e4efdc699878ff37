"""The link to one server, over all the sessions it takes. All of it dies with the process.

    begin ──► connecting ──► connected ──► over      over: the next use begins again, after a pause
                  └────────────────────────►┘        that grows while nothing works

Nothing is started but by someone who needs the server, so a server that always dies cannot make
a storm: it is started once per use, and less and less often. A start that has failed before
anybody waited for it counts as that use's start: the next who asks is told of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Final

from sophos.protections import Protection, Protections
from sophos.tool import ToolResult
from sophos.tools.arguments import BadArguments, arguments_for
from sophos.tools.catalogue import Catalogue, Entry
from sophos.tools.effects import key_for_attempt
from sophos.tools.results import error_result, result_of
from sophos.tools.servers import Local, Server
from sophos.tools.session import Session
from sophos.tools.trouble import CallRefused, CallTimedOut, ServerTrouble, SessionOver

FIRST_PAUSE: Final = 0.5  # seconds, before the second start after a failure; the first is at once
LONGEST_PAUSE: Final = 10.0  # seconds
ATTEMPTS: Final = 2


def pause(failures: int, since: float) -> float:
    """Seconds still to wait, `since` seconds after the last of so many failures in a row."""
    if failures < 2:
        return 0
    # The bound on the exponent keeps the number a number after a day of failures.
    whole = min(FIRST_PAUSE * 2.0 ** min(failures - 2, 10), LONGEST_PAUSE)
    return max(0, whole - since)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What holds for every server. `environment` is all that a child inherits."""

    environment: Mapping[str, str]
    tool_timeout: float  # seconds
    result_limit: int  # characters
    protections: Protections


class Link:
    """`trouble`: why the server cannot be used, or None while it can or was not needed yet."""

    def __init__(self, server: Server, terms: Terms) -> None:
        self.server = server
        self._terms = terms
        self._seconds = server.timeout or terms.tool_timeout
        self._session: Session | None = None
        self._told = False  # whether anybody has heard how connecting went
        self._failures = 0
        self._last_trouble = ""
        self._closed = False
        self._one_at_a_time = asyncio.Lock()

    @property
    def trouble(self) -> str | None:
        return self._session.trouble if self._session is not None and self._session.over else None

    def begin(self) -> None:
        """Start connecting, if that is still to be done."""
        with suppress(ServerTrouble):
            self._current()

    async def catalogue(self) -> Catalogue:
        """The server's tools; raises ServerTrouble."""
        session = self._current()
        if self.server.optional and self._failures and not session.settled.is_set():
            # Nobody waits for a server one can do without, and that has failed already.
            raise ServerTrouble(self._last_trouble)
        return await self._listed(session)

    async def call(self, name: str, args: Mapping[str, Any], key: str) -> ToolResult:
        """Call the tool the model knows by `name`. Whatever goes wrong is an error result."""
        try:
            catalogue = await self._listed(self._current())
        except ServerTrouble as trouble:
            return self._error(f"cannot be used: {trouble}. Nothing was done.")
        entry = catalogue.get(name)
        if entry is None:
            names = ", ".join(sorted(catalogue)) or "none"
            return self._error(f"has no tool {name}. Its tools are: {names}.")
        # A child usually keeps one file and expects one client: two changes at once can lose one.
        in_turn = isinstance(self.server.address, Local) and not entry.effects.read_only
        async with self._one_at_a_time if in_turn else nullcontext():
            return await self._call(entry, args, key)

    def leave(self) -> None:
        self._closed = True
        if self._session is not None:
            self._session.leave()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _current(self) -> Session:
        """The session there is or is about to be; a new one where the last is over."""
        last = self._session
        now = asyncio.get_running_loop().time()
        if last is not None and (not last.over or self._is_news(last, now)):
            return last
        if self._closed:
            raise ServerTrouble("it was closed")
        delay = 0.0
        if last is not None:
            if last.connected and not self._terms.protections.on(Protection.RECONNECT):
                raise ServerTrouble("it died, and SOPHOS_PROTECT_RECONNECT is off")
            self._failures += 1
            self._last_trouble = last.trouble
            delay = pause(self._failures, now - last.ended_at)
        self._session = Session(
            self.server, self._terms.environment, seconds=self._seconds, delay=delay, before=last
        )
        self._told = False
        return self._session

    def _is_news(self, last: Session, now: float) -> bool:
        """Whether it failed to connect, lately, and nobody was told."""
        return not last.connected and not self._told and now - last.ended_at < self._seconds

    async def _listed(self, session: Session) -> Catalogue:
        try:
            return await session.catalogue()
        finally:
            self._told = True

    async def _call(self, entry: Entry, args: Mapping[str, Any], key: str) -> ToolResult:
        may_have_happened = False
        for _ in range(ATTEMPTS):
            sent_key = (
                key_for_attempt(key, self._terms.protections) if entry.effects.keyed else None
            )
            try:
                arguments = arguments_for(entry.schema, args, sent_key)
                session = self._current()
                await self._listed(session)
                answer = await session.call(entry.own_name, arguments)
            except BadArguments as bad:
                return self._error(f"was not called: of the arguments, {bad}.")
            except CallRefused as refusal:
                return error_result(str(refusal), self._terms.result_limit)
            except CallTimedOut as late:
                return self._error(_late(entry, late, self._seconds))
            except ServerTrouble as trouble:
                return self._error(
                    f"cannot be used: {trouble}. {_outcome(entry, may_have_happened)}"
                )
            except SessionOver as over:
                may_have_happened = may_have_happened or over.sent
                if may_have_happened and not entry.effects.repeatable:
                    break
            else:
                self._failures = 0
                return result_of(answer, self._terms.result_limit)
        return self._error(f"ended during this call. {_outcome(entry, may_have_happened)}")

    def _error(self, what: str) -> ToolResult:
        return error_result(f"The tool server {self.server.name} {what}", self._terms.result_limit)


def _late(entry: Entry, late: CallTimedOut, seconds: float) -> str:
    if not late.sent:
        after = "It took no messages, so the call was never sent: nothing was done."
    elif entry.effects.read_only:
        after = "The call only reads: you may make it again."
    else:
        after = "The call was given up but may still finish: check before you repeat it."
    return f"did not answer within {seconds:g} s. {after}"


def _outcome(entry: Entry, may_have_happened: bool) -> str:
    """What the model may believe of a call that got no answer."""
    if not may_have_happened:
        return "Nothing was done."
    if entry.effects.read_only:
        return "The call only reads, so nothing was changed."
    if entry.effects.repeatable:
        return "The call may have taken effect; to repeat it does no harm."
    return "The call may or may not have taken effect: check before you repeat it."
