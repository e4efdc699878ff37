"""How far a matrix is: a line on standard error, or a bar in a notebook. It dies with the matrix."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self


class Progress:
    """Counts crashes. In a notebook the bar is gone when the last one is made."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._made = 0
        self._began = time.monotonic()
        self._rewrites = sys.stderr.isatty()
        self._bar: Any = _bar(total)

    def __enter__(self) -> Self:
        self._show("")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._rewrites:
            sys.stderr.write("\n")
        if kind is KeyboardInterrupt and self._bar is None:
            sys.stderr.write("Stopping once the crashes at hand are made …\n")
            sys.stderr.flush()

    def made(self, what: str) -> None:
        """One more crash is made."""
        self._made += 1
        self._show(what)

    def _show(self, what: str) -> None:
        passed = time.monotonic() - self._began
        text = f"{self._made} of {self._total} crashes, {passed:.0f} s" + (what and f": {what}")
        if self._bar is not None:
            self._bar.value, self._bar.description = self._made, f"{self._made} of {self._total}"
            return
        start, end = ("\r\x1b[K", "") if self._rewrites else ("", "\n")
        sys.stderr.write(f"{start}{text}{end}")
        sys.stderr.flush()


def _bar(total: int) -> Any:
    """A bar where there is a notebook to show it in. Nothing is imported that is not there yet."""
    shell = sys.modules.get("IPython")
    if shell is None or shell.get_ipython() is None or "ipykernel" not in sys.modules:
        return None
    # Only a notebook has widgets, and importing them takes a while.
    import ipywidgets  # noqa: PLC0415
    from IPython.display import display  # noqa: PLC0415

    bar = ipywidgets.IntProgress(max=total)
    # A stored notebook has its text alone, which says what was done and not how a bar stood.
    shown = dict(bar._repr_mimebundle_() or {}) | {"text/plain": f"{total} crashes"}
    display(shown, raw=True)  # type: ignore[no-untyped-call]  # IPython has no types here
    return bar
