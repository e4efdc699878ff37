"""A real kernel, as a notebook's front end has it, and everybody who was ever started below it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from queue import Empty
from typing import Any, Final, Self

import psutil
from jupyter_client.manager import KernelManager

from lab.facts import until

READY_WITHIN: Final = 60.0  # seconds
CELL_WITHIN: Final = 90.0  # seconds
LOOK_EVERY: Final = 0.2  # seconds
GONE_WITHIN: Final = 30.0  # seconds from a kernel's end to the last process below it


class Kernel:
    """Runs cells one by one. Ends with SIGKILL unless it was shut down before."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.pids: list[int] = []
        self.below: set[psutil.Process] = set()
        self._options: dict[str, Any] = {"cwd": str(directory), "env": environment}

    def __enter__(self) -> Self:
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel(**self._options)
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.context.destroy()

    def run(self, source: str) -> Reply:
        return self.answer(self.begin(source))

    def begin(self, source: str) -> str:
        return str(self._client.execute(source))

    def answer(self, request: str) -> Reply:
        """Wait for a cell to end, and look who is below meanwhile."""
        end = time.monotonic() + CELL_WITHIN
        while True:
            self.look()
            try:
                content = self._next("shell", request)
            except Empty:
                assert self._manager.is_alive(), "The kernel died while a cell ran."
                assert time.monotonic() < end, f"A cell did not end within {CELL_WITHIN:g} s."
                continue
            self.look()
            return Reply(content, self._shown(request))

    def interrupt(self) -> None:
        """The Stop button."""
        self._manager.interrupt_kernel()

    def restart(self) -> None:
        """SIGKILL, and a new kernel in its place."""
        self.look()
        self._client.stop_channels()
        self._manager.restart_kernel(now=True)
        self._connect()

    def shut_down(self) -> None:
        """Ask it to end, as closing a notebook does."""
        self.look()
        self._manager.shutdown_kernel()

    def look(self) -> None:
        try:
            self.below.update(psutil.Process(self.pids[-1]).children(recursive=True))
        except psutil.NoSuchProcess:
            return

    def alive_below(self) -> list[str]:
        return [name for process in self.below if (name := _running(process))]

    def see_all_gone(self) -> None:
        until(
            lambda: not self.alive_below(),
            what="the end of everything the kernel had started",
            seconds=GONE_WITHIN,
            details=lambda: " Left: " + "; ".join(self.alive_below()),
        )

    def _connect(self) -> None:
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=READY_WITHIN)
        self.pids.append(self._manager.provisioner.pid)  # type: ignore[union-attr]

    def _next(self, channel: str, request: str) -> dict[str, Any]:
        """The next message that answers a request; raises Empty if there is none for a moment."""
        get = getattr(self._client, f"get_{channel}_msg")
        while True:
            message = get(timeout=LOOK_EVERY)
            if message["parent_header"].get("msg_id") == request:
                content: dict[str, Any] = message["content"]
                return content | {"type": message["msg_type"]}

    def _shown(self, request: str) -> str:
        """What the cell printed and displayed, as text."""
        shown = []
        while (message := self._next("iopub", request)).get("execution_state") != "idle":
            shown += [message.get("text", ""), message.get("data", {}).get("text/plain", "")]
        return "\n".join(shown)


class Reply:
    """How a cell ended: `error` is the exception's name, or empty."""

    def __init__(self, content: dict[str, Any], shown: str) -> None:
        self.error = str(content.get("ename", "")) if content["status"] != "ok" else ""
        self.message = str(content.get("evalue", ""))
        self.shown = shown


def _running(process: psutil.Process) -> str:
    """What it runs, or nothing for one that has ended or was not reaped yet."""
    try:
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            return json.dumps(process.cmdline())
    except psutil.NoSuchProcess:
        pass
    return ""
