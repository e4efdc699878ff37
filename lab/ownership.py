"""How a child is started so that it outlives a Stop button and never outlives its owner.

Nothing is kept here: the pipe and the process are the caller's.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def spawn(
    command: Sequence[str],
    *,
    log: Path,
    environment: Mapping[str, str],
    working_directory: Path | None = None,
) -> subprocess.Popen[bytes]:
    """A child whose stdin is a pipe that only this process holds, writing to a file of its own."""
    with log.open("ab") as output:
        # The pipe's end here is not inheritable and every other child closes what it inherits:
        # no second process can keep this one alive. The output is a file: nobody need drain it.
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=working_directory,
            **_group_of_its_own(),
        )


def let_go(child: subprocess.Popen[bytes]) -> None:
    """End and reap a child whose owner does not want it any more. Dead is fine."""
    if child.stdin is not None:
        child.stdin.close()
    child.kill()
    child.wait()


def _group_of_its_own() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    # A group of its own in the owner's session, not a session of its own: a frozen child cannot
    # see its pipe close, but when its owner dies its group is orphaned, and the operating system
    # sends an orphaned group with frozen members SIGHUP and SIGCONT. A new session would have
    # been an orphan from birth, and the frozen child would stay for ever.
    return {"process_group": 0}
