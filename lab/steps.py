"""Running set-up's programs: progress while it takes long, a log, and what to do when it fails.

Durable: the log file. Standard library alone: this is read before anything is installed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab.environment import WINDOWS
from lab.failure import LabFailure

PATIENCE: Final = 1.0  # seconds before there is something to see
REFRESH: Final = 0.2  # seconds between two looks at a program at work
REPORT: Final = 15.0  # seconds between two lines where a line cannot be rewritten
TAIL: Final = 12  # lines of the log shown after a failure
ENDING: Final = 5.0  # seconds a program gets to end when it is told to

# What the programs say in their own words, and what helps. The first match counts.
REMEDIES: Final = (
    (
        ("no space left", "enospc", "disk quota exceeded"),
        "The disk is full. The lab needs about 1.5 GB: free some space, then run this again.",
    ),
    (
        ("permission denied", "eacces", "read-only file system", "erofs"),
        "The project's folder cannot be written. Give yourself the right to, then run this again.",
    ),
    (
        ("needs to be updated", "can only install packages when"),
        "A lock file and its project file do not match. Undo the change to either, or lock anew.",
    ),
    (
        ("unknownissuer", "certificate"),
        "Your network has a certificate of its own: set SSL_CERT_FILE and NODE_EXTRA_CA_CERTS to it.",
    ),
    (
        (
            "dns error",
            "name resolution",
            "getaddrinfo",
            "enotfound",
            "eai_again",
            "econnrefused",
            "econnreset",
            "etimedout",
            "timed out",
            "failed to fetch",
            "error sending request",
            "connection",
            "network",
            "could not find a version",
        ),
        "Set-up did not reach the package registry. Connect, or set a proxy, then run this again.",
    ),
)
OTHERWISE: Final = (
    "Run this again; if it fails again, start from nothing with: python3 -m lab clean --all"
)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Runs one program after the other. `held` is a descriptor that each holds while it works."""

    log: Path
    held: int | None = None

    def run(
        self,
        title: str,
        command: Sequence[str | Path],
        *,
        environ: Mapping[str, str],
        folder: Path,
    ) -> None:
        """Run a program to its end. Raises LabFailure with its last words and a remedy."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            log.write(f"\n== {title}\n".encode())
            log.flush()
            began = log.tell()
            try:
                code = self._watch(
                    title,
                    subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        env=environ,
                        cwd=folder,
                        # An orphan of a killed set-up keeps the next one waiting, not racing.
                        pass_fds=() if WINDOWS or self.held is None else (self.held,),
                    ),
                )
            except OSError as error:
                raise LabFailure(
                    f"{title} failed: {command[0]} could not be started ({error})."
                ) from error
        if code:
            said = _text_after(self.log, began)
            tail = "\n".join(f"  {line}" for line in said.splitlines()[-TAIL:])
            raise LabFailure(
                f"{title} failed (exit code {code}):\n{tail}\n{remedy_for(said)}\n"
                f"The whole output is in {self.log}."
            )

    def _watch(self, title: str, child: subprocess.Popen[bytes]) -> int:
        meter = Meter(title)
        try:
            while True:
                try:
                    code = child.wait(timeout=REFRESH)
                except subprocess.TimeoutExpired:
                    meter.tick()
                else:
                    meter.end("done" if code == 0 else "failed")
                    return code
        except BaseException:
            meter.end("stopped")
            child.terminate()
            try:
                child.wait(timeout=ENDING)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            raise


class Meter:
    """One line on standard error that says what takes long, and for how long already."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._shown: float | None = None
        self._rewrites = sys.stderr.isatty()

    def tick(self) -> None:
        """Say so if it is time to."""
        passed = time.monotonic() - self._began
        due = self._shown is None or self._rewrites or passed - self._shown >= REPORT
        if passed >= PATIENCE and due:
            self._show(f"{self._title} … {passed:.0f} s", last=not self._rewrites)
            self._shown = passed

    def end(self, word: str) -> None:
        """Say how it went, if anything was said before."""
        if self._shown is not None:
            passed = time.monotonic() - self._began
            self._show(f"{self._title}: {word} after {passed:.0f} s", last=True)

    def _show(self, text: str, *, last: bool) -> None:
        start, end = ("\r\x1b[K" if self._rewrites else ""), ("\n" if last else "")
        sys.stderr.write(f"{start}{text}{end}")
        sys.stderr.flush()


def remedy_for(said: str) -> str:
    """What helps, judged by a program's own words."""
    words = said.lower()
    for signs, remedy in REMEDIES:
        if any(sign in words for sign in signs):
            return remedy
    return OTHERWISE


def _text_after(path: Path, position: int) -> str:
    with path.open("rb") as file:
        file.seek(position)
        return file.read().decode(errors="replace").strip()
