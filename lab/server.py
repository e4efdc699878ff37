"""Sophos as a bench runs it: started with settings, armed with failpoints, broken, restarted.

The handle dies with the bench. What the server keeps is in the workspace; each start has a log
and a file of failpoint hits of its own there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from lab.facts import NotSeen, until
from lab.process import LOG_LINES, Process, ProcessError
from lab.settings import clean, variables
from lab.snapshot import snapshot
from lab.workspace import Workspace
from sophos.failpoints import Action, Point, parse_failpoints
from sophos.run import RunStatus

HIT_WITHIN: Final = 30.0  # seconds
LOOK_EVERY: Final = 0.1  # seconds between two looks at the runs: each opens the database
_ENDS: Final = {Action.KILL, Action.EXIT}
_PASSED_LATER: Final = {Point.OUTCOME_RECORDED, Point.END_ANNOUNCED}  # than a run's row says ended
_OURS: Final = frozenset({"ready_file", "owner_pipe", "failpoint_log"})
_STAYS_INSIDE: Final = ("database_path", "memory_file_path")


class Server:
    """One Sophos on one workspace. A setting holds for one start; `settings` here for all."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Mapping[str, Any],
        *,
        name: str = "server",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.process = Process(
            name,
            [sys.executable, "-m", "sophos"],
            directory=workspace.processes,
            # Whatever has a default relative to the working directory falls into the workspace.
            working_directory=workspace.directory,
        )
        self._workspace = workspace
        self._environ = clean(os.environ if environ is None else environ)
        self._settings = dict(settings)
        self._armed: list[str] = []
        self._taken: set[int] = set()
        self._looked_at = 0.0
        variables(self._allowed(settings))

    @property
    def url(self) -> str:
        """Where it serves; raises ProcessError if it does not."""
        if not self.process.is_alive:
            raise ProcessError(f"{self.process.name} is not running. Start it first.")
        return str(self.process.ready["url"])

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def boot_id(self) -> str:
        """Changes with each start: the `owner` of the runs that this start executes."""
        return str(self.process.ready["boot_id"])

    @property
    def state(self) -> str:
        """`not started`, `running`, `frozen` or `ended`."""
        return self.process.state

    def start(
        self, *, environment: Mapping[str, str] = MappingProxyType({}), **settings: Any
    ) -> None:
        """Start it and wait until it serves. `environment` is what it finds there besides."""
        self.launch(environment=environment, **settings)
        self.process.wait_ready()

    def launch(
        self, *, environment: Mapping[str, str] = MappingProxyType({}), **settings: Any
    ) -> None:
        """Start it without waiting; `process.wait_ready()` does."""
        places = {
            "port": 0,
            "database_path": self._workspace.database,
            "memory_file_path": self._workspace.memory_file,
            "config_dir": self._workspace.config,
            "ready_file": self.process.ready_file,
            "owner_pipe": "stdin",
        }
        chosen = self._allowed(self._settings | settings)
        armed = [*self._armed, *filter(None, [chosen.pop("failpoints", None)])]
        if armed:
            # The number of the start that is about to be made.
            places["failpoint_log"] = self._hits_of(self.process.starts + 1)
            chosen["failpoints"] = "; ".join(armed)
        self.process.environment = {**self._environ, **environment, **variables(places | chosen)}
        self.process.launch()
        self._armed, self._taken = [], set()

    def stop(self) -> int:
        """Ask it to shut down (SIGTERM) and wait until it has; its exit status."""
        return self.process.stop()

    def interrupt(self) -> int:
        """As `stop`, with what Ctrl-C sends (SIGINT)."""
        return self.process.interrupt()

    def kill(self) -> None:
        """End it without asking (SIGKILL), and see its tool servers end."""
        self.process.kill()

    def freeze(self) -> None:
        """Stop it where it stands (SIGSTOP)."""
        self.process.freeze()

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self.process.thaw()

    def restart(self, **settings: Any) -> None:
        """Stop it if it runs, kill it if it is frozen, and start it."""
        self.process.end()
        self.start(**settings)

    def fail_at(
        self, point: str, action: str = "kill", *, nth: int = 1, count: int | None = None
    ) -> None:
        """Arm the next start, and that one alone: `fail_at("tool.returned(fetch__fetch)", "stop")`.

        `nth` counts the times the point is passed, `count` the tokens of `agent.streaming`.
        """
        rule = point + f"#{nth}" + (f"@{count}" if count is not None else "") + f"={action}"
        parse_failpoints(rule)
        self._armed.append(rule)

    def wait_for(self, point: str, seconds: float = HIT_WITHIN) -> None:
        """Wait until the armed point's hit is on record and its action is done.

        After `stop` the server stands frozen, after `kill` it and its tool servers are gone. Raises
        NotSeen as soon as no hit can come any more: the server or every run of it has ended.
        """
        if "SOPHOS_FAILPOINTS" not in self.process.environment:
            raise ProcessError("No failpoint is armed. Call fail_at, then start or restart.")
        hit = until(
            lambda: self._next_hit(point),
            what=f"a hit of {point} by {self.process.label}",
            seconds=seconds,
            details=self._tail,
        )
        if hit["action"] in _ENDS:
            self.process.wait()
        elif hit["action"] == Action.STOP:
            self.process.see_frozen()

    def log(self, lines: int = LOG_LINES) -> str:
        """The last lines of the newest start's log."""
        return self.process.log(lines)

    def _hits_of(self, start: int) -> Path:
        return self._workspace.processes / f"{self.process.name}#{start}.hits.jsonl"

    def _next_hit(self, wanted: str) -> dict[str, Any] | None:
        """The first hit of the point that no wait has taken yet."""
        over = self._over(wanted)  # asked first: whatever was hit before that is on record
        self.process.watch()
        for number, hit in enumerate(_read_hits(self._hits_of(self.process.starts))):
            names = {hit["point"], f"{hit['point']}({hit['selector']})"}
            if wanted in names and number not in self._taken:
                self._taken.add(number)
                return hit
        if over:
            raise NotSeen(over)
        return None

    def _over(self, wanted: str) -> str:
        """Why the point cannot be hit any more, as a sentence; nothing while it can."""
        label = self.process.label
        if not self.process.is_alive:
            return f"{label} ended without a hit of {wanted}.{self._tail()}"
        if wanted.partition("(")[0] in _PASSED_LATER or not (ended := self._ended()):
            return ""
        return (
            f"{wanted} was not reached and cannot be any more: every run of {label} has ended"
            f" ({', '.join(ended)}). Name a point that the run passes, or start another run."
        )

    def _ended(self) -> list[str]:
        """How the runs of this start ended; nothing while one works, or if there is none."""
        if time.monotonic() - self._looked_at < LOOK_EVERY:
            return []
        self._looked_at = time.monotonic()
        owner = self.process.ready.get("boot_id")  # none while it only starts
        sql = "SELECT status FROM runs WHERE owner = ? ORDER BY sequence"
        with snapshot(self._workspace.database) as read:
            runs = [str(row["status"]) for row in read("runs", sql, owner)]
        return [] if RunStatus.RUNNING in runs else runs

    def _tail(self) -> str:
        return f" Its log:\n{self.log()}"

    def _allowed(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        if ours := sorted(_OURS & set(settings)):
            raise ValueError(f"The bench itself sets {', '.join(ours)}.")
        for name in _STAYS_INSIDE:
            if settings.get(name) and not self._workspace.holds(Path(settings[name])):
                raise ValueError(
                    f"{name} must lie in {self._workspace.directory}: a bench breaks things."
                )
        return dict(settings)


def _read_hits(path: Path) -> list[dict[str, Any]]:
    """The hits on record; a line that is still being written is not there yet."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
