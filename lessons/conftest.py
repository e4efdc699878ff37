"""How pytest runs a lesson: strictly, cell by cell, and never waiting for a kernel that is dead.

What a cell prints, and its tables as text and as HTML, must be what the notebook holds. Nothing is
sanitised: what differs from run to run has no place in a lesson's output.
"""

from __future__ import annotations

import time
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
from typing import Any, Final

import nbval.plugin
import pytest
from nbval.kernel import RunningKernel

from lab.answers import PATH_VARIABLE
from lab.bench import MODEL_VARIABLE

LOOK_EVERY: Final = 0.5  # seconds between two looks at whether the kernel lives


class KernelDied(RuntimeError):
    """The kernel ended while something was expected of it."""


class LessonKernel(RunningKernel):
    """A kernel whose death ends the wait for it, which by itself would last the cell's time limit.

    It sees no prediction that was made on this machine, and the scripted model whatever is set.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._answers = TemporaryDirectory()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(PATH_VARIABLE, str(Path(self._answers.name) / "predictions.db"))
            patch.delenv(MODEL_VARIABLE, raising=False)
            super().__init__(*args, **options)

    def stop(self) -> None:
        super().stop()
        self._answers.cleanup()

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        end = float("inf") if timeout is None else time.monotonic() + timeout
        while True:
            alive = self.is_alive()
            try:
                wait = max(0.0, min(LOOK_EVERY, end - time.monotonic()))
                return super().get_message(stream, timeout=wait)
            except Empty:
                # Asked before the last look: what it had sent by its death is read first.
                if not alive:
                    raise KernelDied("The kernel died while the cell ran.") from None
                if time.monotonic() >= end:
                    raise


# The plugin looks the class up by this name when it starts a lesson's kernel.
nbval.plugin.RunningKernel = LessonKernel


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, nbval.plugin.IPyNbFile):
        # Ports, pids and warnings of libraries go there; tests/lessons see that a lesson has none.
        collector.skip_compare += ("stderr",)
