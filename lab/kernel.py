"""A second notebook, without its page: a real kernel, in which a lesson presses Stop and Restart.

    this notebook ──stdin pipe──► the other kernel ──stdin pipes──► the processes of its own bench

What its cells define dies with the kernel. It ends with its owner, like every child of a bench; the
connection file and its log stay in the workspace.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Final

from jupyter_client.blocking.client import BlockingKernelClient

from lab.child import announce
from lab.process import Process, ProcessError
from lab.settings import clean
from lab.workspace import PROJECT, Workspace

CELL_WITHIN: Final = 90.0  # seconds
READ_AT_ONCE: Final = 4096  # bytes


class Kernel:
    """One notebook's kernel. The first `run` starts it; after `restart` it knows nothing any more."""

    def __init__(self, workspace: Workspace) -> None:
        self._connection = workspace.processes / f"kernel-{secrets.token_hex(4)}.json"
        self.process = Process(
            "kernel",
            [
                *(sys.executable, "-m", "lab.kernel"),
                *("--connection", str(self._connection)),
                *("--ready-file", str(workspace.processes / "kernel.ready.json")),
            ],
            directory=workspace.processes,
            # What IPython remembers of a session stays in the workspace too.
            environment=clean(os.environ) | {"IPYTHONDIR": str(workspace.directory / "ipython")},
            working_directory=PROJECT,
        )

    def run(self, source: str) -> str:
        """Run a cell and give what it printed; raises ProcessError with the cell's own error."""
        if not self.process.is_alive:
            self.process.launch()
        if not self.process.ready:
            self.process.wait_ready()
        printed: list[str] = []

        def take(message: dict[str, Any]) -> None:
            printed.append(message["content"].get("text", ""))

        client = BlockingKernelClient(connection_file=str(self._connection))
        client.load_connection_file()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=CELL_WITHIN)
            reply = client.execute_interactive(
                source, allow_stdin=False, timeout=CELL_WITHIN, output_hook=take
            )["content"]
        finally:
            client.stop_channels()
        if reply["status"] != "ok":
            raise ProcessError(f"The cell raised {reply.get('ename')}: {reply.get('evalue')}")
        return "".join(printed)

    def press_stop(self) -> None:
        """What Stop does: SIGINT for the kernel and all of its process group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def restart(self) -> None:
        """What Restart does in the end: SIGKILL, and a new kernel in its place.

        Returns when everything below the old one has ended; the new one gets ready meanwhile.
        """
        self.process.kill()
        self.process.launch()


def main() -> None:
    # Only the kernel's own process needs it, and it takes half a second to import.
    from ipykernel.kernelapp import IPKernelApp  # noqa: PLC0415

    parser = argparse.ArgumentParser(
        prog="python -m lab.kernel", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--connection", type=Path, required=True)
    parser.add_argument("--ready-file", type=Path, required=True)
    options = parser.parse_args()
    threading.Thread(target=_end_with_owner, daemon=True).start()
    # A connection file that an earlier kernel left would make this one take its ports.
    options.connection.unlink(missing_ok=True)
    app = IPKernelApp.instance(connection_file=str(options.connection))
    app.initialize(["--HistoryManager.enabled=False"])  # type: ignore[no-untyped-call]
    announce(options.ready_file, port=app.shell_port, url="")
    app.start()  # type: ignore[no-untyped-call]


def _end_with_owner() -> None:
    while os.read(sys.stdin.fileno(), READ_AT_ONCE):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
