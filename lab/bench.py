"""A throw-away Sophos with its surroundings, to be broken on purpose.

    bench = Bench("06")
    run = bench.client.start("…")      the model, the web site and Sophos start on first use
    bench.sophos.kill()

Every process is a real one with its own log in the workspace, and none outlives this one. The
workspace stays after `close()`, to be looked at; it is swept once this process has ended.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from lab.client import Client
from lab.configuration import write_configuration
from lab.process import Process
from lab.server import Server
from lab.witness import Neighbour, Outside, RealModel, ScriptedModel, Site
from lab.workspace import ROOT, make_workspace

if TYPE_CHECKING:
    from lab.kernel import Kernel
    from lab.tables import Tables

MODEL_VARIABLE: Final = "SOPHOS_LAB_MODEL"
SCRIPTED: Final = "scripted"
OLLAMA: Final = "ollama"
_OLLAMA_SETTINGS: Final = ("ollama_host", "ollama_model", "ollama_think", "ollama_num_ctx")

AnyProcess = TypeVar("AnyProcess", bound=Process)


class Bench:
    """One workspace with its processes. `settings` hold for every start of its Sophos.

    `tokens_per_second` is the scripted model's pace, 0 for none; a real model has its own. `tools`
    are the tool servers it has: the project's unless named, `("tasks",)` for the task tracker alone.
    """

    def __init__(
        self,
        name: str,
        model: str | None = None,
        *,
        tokens_per_second: float = 0,
        tools: Collection[str] | None = None,
        root: Path = ROOT,
        **settings: Any,
    ) -> None:
        kind = model or os.environ.get(MODEL_VARIABLE) or SCRIPTED
        if kind not in {SCRIPTED, OLLAMA}:
            raise ValueError(f"There is no model {kind!r}: write {SCRIPTED!r} or {OLLAMA!r}.")
        self.is_scripted = kind == SCRIPTED
        self.workspace = make_workspace(name, root)
        write_configuration(self.workspace, tools=tools)
        self._tokens_per_second = tokens_per_second
        self._settings = settings
        self._processes: list[Process] = []

    def __repr__(self) -> str:
        return f"<Bench {self.workspace.directory.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def model(self) -> Any:
        """The scripted model: `script`, `requests`, `pace`, `hold`, `process`; or the real one."""
        if self.is_scripted:
            return ScriptedModel(self._model_process)
        return RealModel(os.environ.get("OLLAMA_HOST") or "http://localhost:11434")

    @cached_property
    def site(self) -> Site:
        """The web site: `url`, `visits()`, `process`."""
        return Site(self._site_process, self._ledger)

    @cached_property
    def collector(self) -> Outside:
        """A tracing service, on another machine as it were: `url`, `received()`, `wait_for()`."""
        ledger = self.workspace.directory / "collector.jsonl"
        options = ["--ledger", str(ledger)]
        process = Neighbour("collector", "lab.collector", self.workspace, options)
        return Outside(self._kept(process), ledger)

    @cached_property
    def sophos(self) -> Server:
        """The server under test. Start it, or use `client`, which does."""
        return self._server("server")

    @cached_property
    def second(self) -> Server:
        """A second server on the same workspace, for what happens when there are two."""
        return self._server("second")

    @cached_property
    def kernel(self) -> Kernel:
        """Another notebook's kernel: `run`, `press_stop`, `restart`, and its `process`."""
        # Only a lesson about kernels needs the client of one, which takes a while to import.
        from lab.kernel import Kernel  # noqa: PLC0415

        kernel = Kernel(self.workspace)
        self._kept(kernel.process)
        return kernel

    @property
    def client(self) -> Client:
        """An HTTP client of `sophos`, wherever it is after a restart; starts it the first time."""
        self._serve()
        return self._client

    @cached_property
    def tables(self) -> Tables:
        """What files and processes say, as data frames."""
        # Data frames take a second to import: only who asks for one waits for it.
        from lab.tables import Tables  # noqa: PLC0415

        return Tables(self.workspace, self._client.shown, self._ledger)

    def up(self) -> Self:
        """Start whatever has not been started yet, side by side."""
        neighbours = [self._site_process, *([self._model_process] if self.is_scripted else [])]
        for process in neighbours:
            if process.state == "not started":
                process.launch()
        self._serve()
        _ = self.site
        return self

    def pace(self, tokens_per_second: float) -> None:
        """The scripted model's pace from now on, 0 for none. A real model keeps its own."""
        if self.is_scripted:
            self.model.pace(tokens_per_second)

    def close(self) -> None:
        """End every process, Sophos first. The workspace stays until this process has ended."""
        with ExitStack() as stack:
            for process in self._processes:
                stack.callback(process.end)

    def _serve(self) -> None:
        # Ready once, it is the lesson's to start again: a killed server must stay dead.
        if not self.sophos.process.ready:
            self.sophos.start()

    @cached_property
    def _client(self) -> Client:
        server = self.sophos
        return Client(lambda: server.url)

    @cached_property
    def _model_process(self) -> Neighbour:
        log = self.workspace.processes / "model.requests.jsonl"
        options = ["--log", str(log), "--tokens-per-second", str(self._tokens_per_second)]
        return self._kept(Neighbour("model", "lab.model", self.workspace, options))

    @cached_property
    def _site_process(self) -> Neighbour:
        ledger = str(self._ledger)
        return self._kept(Neighbour("site", "lab.site", self.workspace, ["--ledger", ledger]))

    def _server(self, name: str) -> Server:
        if self.is_scripted:
            given = {"ollama_host": self.model.url}
        else:
            given = {name: os.environ.get(name.upper()) for name in _OLLAMA_SETTINGS}
        server = Server(self.workspace, given | self._settings, name=name)
        self._kept(server.process)
        return server

    def _kept(self, process: AnyProcess) -> AnyProcess:
        self._processes.append(process)
        return process

    @property
    def _ledger(self) -> Path:
        return self.workspace.directory / "site.jsonl"
