"""The processes of a running lab: started side by side, watched, ended in order.

    scripted model ──► Sophos ──► its tool servers        web site        JupyterLab ──► kernels

The handles die with this process, and so do the children: each watches the pipe it was given.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import psutil

from lab.children import SCRIPTED, Nursery
from lab.configuration import write_configuration
from lab.environment import Environment
from lab.facts import NotSeen, until
from lab.failure import LabFailure
from lab.leftovers import MARK, end_marked, see_ended
from lab.process import STOP_WITHIN, Process, ProcessError
from lab.session import Session
from lab.workspace import Workspace

PAGES: Final[tuple[str, ...]] = ("JupyterLab", "Sophos", "Web site")  # as they are shown
LOOPBACK: Final = "127.0.0.1,localhost"
LOOK_EVERY: Final = 0.5  # seconds between two looks at who has ended
FORGOTTEN_GRACE: Final = 2.0  # seconds for what a kernel left behind to end by itself
LAST_WORDS: Final = 8  # lines of a log that are shown


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What is to run. `ollama` is a real model server's URL and model, instead of the scripted."""

    ollama: tuple[str, str] | None
    port: int
    tokens_per_second: float
    jupyter: bool


class RunningLab:
    """Everything that one start runs, with `environ` as its environment. Leaving ends it."""

    def __init__(
        self, environment: Environment, wishes: Wishes, environ: Mapping[str, str]
    ) -> None:
        self._wishes = wishes
        self._mark = uuid.uuid4().hex
        self._lessons_mark = f"{self._mark}.lessons"
        # A proxy is not asked for this machine.
        proxies = {
            name: ",".join(filter(None, (environ.get(name), LOOPBACK)))
            for name in ("NO_PROXY", "no_proxy")
        }
        self._nursery = Nursery(
            root=environment.root,
            place=Workspace(directory=environment.state / "session"),
            environ={**environ, **proxies, MARK: self._mark},
        )
        self._jupyter_home = environment.state / "jupyter"
        # By what a person calls them, in the order they are launched in and end against.
        self._processes: dict[str, Process] = {}
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        place, mark = self._nursery.place, self._nursery.place.directory / "mark"
        if mark.exists():
            # An earlier lab was killed, or it would have taken the mark away.
            see_ended(place.records())
            end_marked(mark.read_text(encoding="utf-8"))
        shutil.rmtree(place.directory, ignore_errors=True)
        # What is in there names JupyterLab's token.
        place.directory.mkdir(parents=True, mode=0o700)
        for folder in (place.config, place.processes):
            folder.mkdir()
        project = self._nursery.root / "config"
        try:
            write_configuration(place, project)
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise LabFailure(
                f"{project} cannot be used: {error}. Correct what is there."
            ) from error
        mark.write_text(self._mark, encoding="utf-8")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            for title, process in reversed(self._processes.items()):
                if title == "JupyterLab":
                    self._end_jupyter(process)
                process.end()
        except KeyboardInterrupt:
            print("\nEnding the rest at once.", flush=True)
        finally:
            end_marked(self._mark)
            for process in self._processes.values():
                process.kill()
            (self._nursery.place.directory / "mark").unlink()

    def start(self) -> Session:
        """Start all side by side. Raises ProcessError, with its log, for one that does not."""
        wishes, nursery = self._wishes, self._nursery
        if not wishes.ollama:
            self._launch("Model", nursery.scripted_model(wishes.tokens_per_second))
        self._launch("Web site", nursery.site())
        if wishes.jupyter:
            environ = {MARK: self._lessons_mark}
            if wishes.ollama:
                environ["SOPHOS_LAB_MODEL"] = "ollama"
            self._launch("JupyterLab", nursery.jupyter(self._jupyter_home, **environ))
        url, name = wishes.ollama or (self._page("Model"), SCRIPTED)
        self._launch("Sophos", nursery.sophos(wishes.port, OLLAMA_HOST=url, OLLAMA_MODEL=name))
        pages = {title: self._page(title) for title in PAGES if title in self._processes}
        self._settle()
        return Session(pid=os.getpid(), model=f"{name} at {url}", pages=pages)

    def watch(self) -> None:
        """Until Ctrl-C, or until all have ended: say who ends; Enter starts those again."""
        while self._tell_of_ended():
            if _enter_pressed():
                self._start_ended()

    def _launch(self, title: str, process: Process) -> None:
        self._processes[title] = process
        process.launch()

    def _page(self, title: str) -> str:
        """Where the child serves, once it does."""
        process = self._processes[title]
        process.wait_ready()
        return str(process.ready["url"])

    def _end_jupyter(self, jupyter: Process) -> None:
        """Its kernels end with it; what a cell started and forgot gets a moment, then ends too."""
        if jupyter.is_alive:
            psutil.Process(jupyter.pid).terminate()
            until(lambda: not jupyter.is_alive, what="the end of JupyterLab", seconds=STOP_WITHIN)
        end_marked(self._lessons_mark, grace=FORGOTTEN_GRACE)

    def _settle(self) -> None:
        """Started again, each is where open pages and the others look for it."""
        for title, process in self._processes.items():
            port = str(process.ready["port"])
            if title == "Sophos":
                process.environment["PORT"] = port
            else:
                process.command = (*process.command, "--port", port)

    def _tell_of_ended(self) -> bool:
        """Whether anything is left to wait for."""
        ended = {title for title, process in self._processes.items() if not process.is_alive}
        for title in sorted(ended - self._told):
            process = self._processes[title]
            print(f"\n{title} has ended ({_how(process.exit_status)}). The end of its log:")
            print(*(f"  {line}" for line in process.log(LAST_WORDS).splitlines()), sep="\n")
            print("Enter starts it again, Ctrl-C ends the rest.", flush=True)
        self._told = ended
        return len(ended) < len(self._processes)

    def _start_ended(self) -> None:
        for title in sorted(self._told):
            process = self._processes[title]
            try:
                process.restart()
            except (ProcessError, NotSeen) as error:
                print(f"{title} did not start. {error}", flush=True)
            else:
                print(f"{title} is back: {process.ready['url']}", flush=True)


def _how(exit_status: int | None) -> str:
    if exit_status is not None and exit_status < 0:
        return f"signal {-exit_status}, {signal.strsignal(-exit_status)}"
    return f"exit status {exit_status}"


def _enter_pressed() -> bool:
    """Whether Enter was pressed here, after waiting a little for it."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        time.sleep(LOOK_EVERY)
        return False
    readable, _, _ = select.select([sys.stdin], [], [], LOOK_EVERY)
    # In the background the line is the shell's, and reading it would freeze us.
    return bool(readable) and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp() and _read_line()


def _read_line() -> bool:
    if sys.stdin.readline():
        return True
    time.sleep(LOOK_EVERY)  # the end of input stays readable for ever
    return False
