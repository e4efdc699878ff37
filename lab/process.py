"""A child process that dies with its owner, in whatever way the owner dies.

    owner ──stdin pipe──► child ──► its own children
                            └──► <name>#<n>.log, one file per start

The child ends when the pipe closes, and the operating system closes the pipe on any death of the
owner. It has a process group of its own, so the signal of a notebook's Stop button does not reach
it. Durable: the log files and the record of who was started. The handle dies with the owner.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import psutil

from lab.facts import NotSeen, until
from lab.life import note_end, note_frozen, note_start, note_thaw
from lab.ownership import let_go, spawn
from lab.tree import Descendants, Record, birth

READY_WITHIN: Final = 60.0  # seconds
STOP_WITHIN: Final = 40.0  # seconds; longer than a server's own grace
LOG_LINES: Final = 20


class ProcessError(RuntimeError):
    """A process is not in the state that this needs."""


class Process:
    """One command that can be started again and again. It must end when its stdin closes."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str] | None = None,
        working_directory: Path | None = None,
    ) -> None:
        """`directory` gets the logs, the ready file and the record; `environment` is all of it."""
        self.name = name
        self.command = tuple(command)
        self.environment = dict(os.environ if environment is None else environment)
        self.directory = directory
        self.ready_file = directory / f"{name}.ready.json"
        self.ready: dict[str, Any] = {}
        self.starts = 0
        self._working_directory = working_directory
        self._child: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None
        self._descendants = Descendants()

    @property
    def label(self) -> str:
        """The same in every run: `server#2` is the second start."""
        return f"{self.name}#{self.starts}"

    @property
    def pid(self) -> int:
        return self._started().pid

    @property
    def is_alive(self) -> bool:
        """Whether it runs or is frozen. A zombie is dead."""
        return self._child is not None and self._child.poll() is None

    @property
    def is_frozen(self) -> bool:
        # It is not reaped while it is alive, so its pid is its own.
        return self.is_alive and psutil.Process(self.pid).status() == psutil.STATUS_STOPPED

    @property
    def state(self) -> str:
        """`not started`, `running`, `frozen` or `ended`."""
        if self._child is None:
            return "not started"
        if not self.is_alive:
            return "ended"
        return "frozen" if self.is_frozen else "running"

    @property
    def exit_status(self) -> int | None:
        """None while it is alive; minus the number of the signal that ended it, if one did."""
        return self._started().poll()

    def start(self) -> None:
        """Start it and wait for its ready file; raises ProcessError with its log if it ends first."""
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start it without waiting, so that several can start side by side."""
        if self.is_alive:
            raise ProcessError(f"{self.label} is alive. Stop or kill it before it starts again.")
        self.directory.mkdir(parents=True, exist_ok=True)
        self.ready_file.unlink(missing_ok=True)
        self.ready = {}
        self._descendants = Descendants()
        self.starts += 1
        self._log = self.directory / f"{self.label}.log"
        note_start(self.directory, self.label)
        self._child = child = spawn(
            self.command,
            log=self._log,
            environment=self.environment,
            working_directory=self._working_directory,
        )
        weakref.finalize(self, let_go, child)
        self._record()

    def wait_ready(self) -> None:
        """Wait for the ready file of a launched process; whatever interrupts the wait ends it."""
        try:
            until(
                lambda: self.ready_file.exists() or not self.is_alive,
                what=f"the ready file of {self.label}",
                seconds=READY_WITHIN,
                details=self._last_lines,
            )
            self._refuse_early_end()
            self.ready = json.loads(self.ready_file.read_text(encoding="utf-8"))
            self._record()
        except BaseException:
            let_go(self._started())
            raise

    def stop(self) -> int:
        """Ask it to end (SIGTERM), wait until it and its descendants have; its exit status."""
        return self._ask_to_end(signal.SIGTERM)

    def interrupt(self) -> int:
        """As `stop`, with what Ctrl-C sends (SIGINT)."""
        return self._ask_to_end(signal.SIGINT)

    def kill(self) -> None:
        """End it without asking (SIGKILL), reap it, and see its descendants end. Dead is fine."""
        if self._child is None:
            return
        if self.is_alive:
            # Frozen first: a child it is about to start would be missed by the look at the tree.
            with suppress(psutil.NoSuchProcess):
                psutil.Process(self.pid).suspend()
            self._descendants.look(self.pid)
            self._child.kill()
        self._see_all_gone()

    def freeze(self) -> None:
        """Stop it where it stands (SIGSTOP), and see that it stands."""
        self._alive()
        psutil.Process(self.pid).suspend()
        self.see_frozen()

    def see_frozen(self) -> None:
        """Wait until it stands, whoever stops it, and put that on record."""
        until(lambda: self.is_frozen, what=f"{self.label} frozen")
        note_frozen(self.directory, self.label)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self._alive()
        note_thaw(self.directory, self.label)  # first: what it does then comes after it
        psutil.Process(self.pid).resume()

    def restart(self) -> None:
        """Stop it if it runs, kill it if it is frozen, and start it."""
        self.end()
        self.start()

    def end(self) -> None:
        """Stop it if it runs, kill it if it is frozen or does not stop. Dead is fine."""
        if self.is_alive and not self.is_frozen:
            try:
                self.stop()
            except NotSeen:
                if not self.is_alive:
                    raise  # it ended and left descendants, which is worth knowing
        self.kill()

    def wait(self, seconds: float = STOP_WITHIN) -> int:
        """Wait until it and its descendants have ended; its exit status."""
        what = f"the end of {self.label}"
        until(self._has_ended, what=what, seconds=seconds, details=self._last_lines)
        return self._see_all_gone()

    def log(self, lines: int = LOG_LINES) -> str:
        """The last lines of the newest start's output."""
        text = self._log.read_text(encoding="utf-8", errors="replace") if self._log else ""
        return "\n".join(text.splitlines()[-lines:])

    def watch(self) -> None:
        """Call it while waiting for a sudden death: it remembers who must be gone after that."""
        if self.is_alive:
            self._descendants.watch(self.pid)

    def _ask_to_end(self, number: int) -> int:
        if self.is_alive:
            if self.is_frozen:
                raise ProcessError(f"{self.label} is frozen and hears nothing. Thaw or kill it.")
            self._descendants.look(self.pid)
            self._started().send_signal(number)
        return self.wait()

    def _has_ended(self) -> bool:
        self.watch()
        return not self.is_alive

    def _see_all_gone(self) -> int:
        child = self._started()
        note_end(self.directory, self.label, status := child.wait())
        if child.stdin is not None:
            child.stdin.close()
        self._descendants.see_gone(self.label)
        return status

    def _record(self) -> None:
        # One that has ended already has no record: wait_ready will say so.
        if (born := birth(self.pid)) is not None:
            about: dict[str, Any] = {"name": self.name, "start": self.starts, "pid": self.pid}
            about["created"] = psutil.Process(self.pid).create_time()
            Record(**about, born=born, ready=self.ready).save(self.directory)

    def _refuse_early_end(self) -> None:
        if not self.ready_file.exists():
            raise ProcessError(
                f"{self.label} ended before it was ready, with exit status {self.exit_status}."
                + self._last_lines()
            )

    def _last_lines(self) -> str:
        return f" The last lines of its log:\n{self.log() or '(nothing)'}"

    def _alive(self) -> None:
        if not self.is_alive:
            raise ProcessError(f"{self.name} is not running. Start it first.")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            raise ProcessError(f"{self.name} was not started yet. Start it first.")
        return self._child
