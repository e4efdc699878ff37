"""All the tools there are: one link per server of mcp.json. All of it dies with the process.

Nothing is read or started before the first use. mcp.json is read again at every offer, so that a
server that is added, removed or changed is picked up; one that is not changed stays connected.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from sophos.errors import ToolsUnavailable
from sophos.protections import Protections
from sophos.tool import Offer, Tool, ToolResult
from sophos.tools.link import Link, Terms
from sophos.tools.results import error_result
from sophos.tools.servers import FILE, SEPARATOR, parse_servers, read_bytes, variables
from sophos.tools.trouble import ServerTrouble
from sophos.tools.wire import library_kept_quiet


@asynccontextmanager
async def open_toolbox(
    *,
    config_dir: Path,
    memory_file: Path,
    environment: Mapping[str, str],
    tool_timeout: float,
    result_limit: int,
    protections: Protections,
) -> AsyncIterator[Toolbox]:
    """Hand out the tools of `config_dir`/mcp.json; at the end no child of theirs is left.

    `environment` is all that children inherit. `tool_timeout` is in seconds, `result_limit` in
    characters. `memory_file` is what `${MEMORY_FILE_PATH}` in mcp.json stands for, made absolute.
    """
    terms = Terms(
        environment=environment,
        tool_timeout=tool_timeout,
        result_limit=result_limit,
        protections=protections,
    )
    toolbox = Toolbox(config_dir, memory_file, terms)
    with library_kept_quiet():
        try:
            yield toolbox
        finally:
            await toolbox.close()


class Toolbox:
    """The agent's `Tools`, over MCP. Made by `open_toolbox`."""

    def __init__(self, config_dir: Path, memory_file: Path, terms: Terms) -> None:
        self._file = config_dir.absolute() / FILE
        self._memory_file = memory_file.absolute()
        self._variables = variables(config_dir, memory_file)
        self._terms = terms
        self._links: dict[str, Link] = {}
        self._leaving: list[Link] = []  # told to end, and not yet seen to have ended
        self._read: bytes | None = None  # mcp.json as the links were made from it
        self._reading = asyncio.Lock()
        self._closed = False

    async def begin(self) -> None:
        """As `Tools.begin`."""
        with suppress(ToolsUnavailable):
            await self._begun()

    async def offer(self) -> Offer:
        """As `Tools.offer`. Servers connect at the same time, and once for all who ask."""
        links = await self._begun()
        tools: list[Tool] = []
        notes: list[str] = []
        troubles: list[str] = []
        for link in links:
            try:
                catalogue = await link.catalogue()
            except ServerTrouble as trouble:
                told = notes if link.server.optional else troubles
                told.append(f"The tool server {link.server.name} cannot be used: {trouble}.")
                continue
            tools += [entry.tool for entry in catalogue.values()]
            missing = link.server.approval - {entry.own_name for entry in catalogue.values()}
            notes += [
                f"{FILE} asks for approval of {link.server.name}{SEPARATOR}{name}, which does not exist."
                for name in sorted(missing)
            ]
        if troubles:
            raise ToolsUnavailable(f"{' '.join(troubles)} Correct that or {FILE}, then resume.")
        return Offer(tools=sorted(tools, key=lambda tool: tool.name), notes=notes)

    async def call(self, name: str, args: Mapping[str, Any], *, key: str) -> ToolResult:
        """As `Tools.call`. Connects the one server it needs, whatever the others are like."""
        server = name.partition(SEPARATOR)[0]
        try:
            if server not in self._links:
                await self._follow_file()
        except ToolsUnavailable as error:
            return error_result(error.message, self._terms.result_limit)
        if server not in self._links:
            return error_result(f"There is no tool {name}.", self._terms.result_limit)
        return await self._links[server].call(name, args, key)

    def troubles(self) -> Mapping[str, str]:
        """As `Tools.troubles`."""
        needed = {name: link for name, link in self._links.items() if not link.server.optional}
        return {name: link.trouble for name, link in sorted(needed.items()) if link.trouble}

    async def close(self) -> None:
        self._closed = True
        async with self._reading:
            await self._drop(list(self._links))

    async def _begun(self) -> list[Link]:
        await self._follow_file()
        links = [self._links[name] for name in sorted(self._links)]
        for link in links:
            link.begin()
        return links

    async def _follow_file(self) -> None:
        async with self._reading:
            if self._closed:
                raise ToolsUnavailable("The tools are closed: the server is shutting down.")
            content = read_bytes(self._file)
            if content == self._read and not self._leaving:
                return
            servers = parse_servers(content, self._file, self._variables)
            if servers:
                self._make_memory_folder()
            await self._drop(
                [name for name, link in self._links.items() if servers.get(name) != link.server]
            )
            for name, server in servers.items():
                if name not in self._links:
                    self._links[name] = Link(server, self._terms)
            # Last: whoever is cancelled above leaves the rest to the next who asks.
            self._read = content

    def _make_memory_folder(self) -> None:
        # The Memory server writes into this folder but does not make it.
        try:
            self._memory_file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ToolsUnavailable(
                f"The folder of MEMORY_FILE_PATH cannot be made: {error.strerror}."
                " Correct MEMORY_FILE_PATH, then restart and resume."
            ) from error

    async def _drop(self, names: list[str]) -> None:
        for name in names:
            link = self._links.pop(name)
            link.leave()
            self._leaving.append(link)
        # A link is forgotten only once it has ended: whoever is cancelled here leaves it to the next.
        while self._leaving:
            await self._leaving[-1].close()
            self._leaving.pop()
