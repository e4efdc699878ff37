"""What the bench's files and processes say, as data frames. Read-only, sorted, the same in every run.

Short names stand for ids: `run 1`, `call 2`, `server#1`. With `raw=True` a frame also has what
differs from run to run: ids, times, pids, ports, exact sizes. Nothing here asks the server under test: a
dead one can be read as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final

import pandas as pd

from lab.frame import frame, show_all
from lab.holdings import holdings
from lab.names import Names
from lab.roles import connections, members
from lab.snapshot import Read, snapshot
from lab.stream import StreamEvent
from lab.thread import Thread, read_thread
from lab.walk import walk
from lab.witness import memory_rows, read_effects, read_visits
from lab.workspace import Workspace

_CONVERSATIONS: Final = """
    SELECT conversations.*,
           (SELECT count(*) FROM runs WHERE conversation_id = conversations.id) AS runs,
           (SELECT status FROM runs WHERE conversation_id = conversations.id
            ORDER BY sequence DESC LIMIT 1) AS status
    FROM conversations ORDER BY created_at, rowid
"""
_RUNS: Final = "SELECT * FROM runs ORDER BY sequence"


class Tables:
    """One bench's tables. Holds the short names and nothing else."""

    def __init__(
        self,
        workspace: Workspace,
        shown: Callable[[str], Sequence[StreamEvent]],
        ledger: Path,
    ) -> None:
        self._workspace = workspace
        self._shown = shown
        self._ledger = ledger
        self._names = Names()
        show_all()

    def conversations(self, *, raw: bool = False) -> pd.DataFrame:
        """Oldest first; `status` is the newest run's."""
        with snapshot(self._workspace.database) as read:
            self._name_all(read)
            rows = [
                dict(row)
                | {
                    "conversation": self._conversation(row["id"]),
                    "title": self.placed(row["title"]),
                    "messages": row["message_count"],
                }
                for row in read("conversations", _CONVERSATIONS)
                if row["deleted_at"] is None
            ]
        columns = ["conversation", "title", "messages", "runs", "status"]
        return frame(rows, columns, ["id", "created_at", "updated_at"] if raw else [])

    def runs(self, conversation: str | None = None, *, raw: bool = False) -> pd.DataFrame:
        """Every attempt, oldest first, of one conversation (its id or short name) or of all."""
        boots = {record.ready.get("boot_id"): record.label for record in self._workspace.records()}
        with snapshot(self._workspace.database) as read:
            self._name_all(read)
            wanted = conversation and self._names.identity(conversation)
            rows = [
                dict(row)
                | {
                    "run": self._run(row["id"]),
                    "conversation": self._conversation(row["conversation_id"]),
                    "resume_of": self._run(row["resume_of"]),
                    "owner": boots.get(row["owner"], "unknown"),
                    "boot_id": row["owner"],
                }
                for row in read("runs", _RUNS)
                if wanted in (None, row["conversation_id"])
            ]
        columns = ["run", "conversation", "kind", "resume_of", "status", "error_code", "owner"]
        more = ["id", "conversation_id", "boot_id", "started_at", "finished_at", "error_message"]
        # A message may name an address with a port.
        return frame(rows, columns, ["input", *more] if raw else [])

    def checkpoints(self, conversation: str, *, raw: bool = False) -> pd.DataFrame:
        """A thread's states, oldest first: after the input (step −1), and after each step."""
        rows = [
            asdict(checkpoint)
            | {"next": ", ".join(checkpoint.next), "run": self._run(checkpoint.run)}
            for checkpoint in self.thread(conversation).checkpoints
        ]
        columns = ["step", "source", "next", "run", "messages"]
        # Sizes differ by a few bytes from run to run: there are random numbers in a checkpoint.
        return frame(rows, columns, ["bytes", "id", "parent"] if raw else [])

    def writes(self, conversation: str, *, raw: bool = False) -> pd.DataFrame:
        """What the tasks of the step after `step` finished; pending until a checkpoint holds it."""
        rows = [asdict(write) for write in self.thread(conversation).writes]
        columns = ["step", "task", "channel", "what", "pending"]
        return frame(rows, columns, ["bytes", "checkpoint", "task_id"] if raw else [])

    def memory(self) -> pd.DataFrame:
        """The Memory server's knowledge graph, as its file holds it: entities, then relations."""
        path = self._workspace.memory_file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return frame(memory_rows(self.placed(text)), ["kind", "name", "type", "content"])

    def effects(self, *, raw: bool = False) -> pd.DataFrame:
        """What the task tracker did, in order, and which call each key stands for."""
        with snapshot(self._workspace.database) as read:
            self._name_all(read)
            rows = [
                asdict(effect) | {"idempotency_key": effect.key, "key": self._key(effect.key)}
                for effect in read_effects(self._workspace.tasks)
            ]
        return frame(rows, ["n", "tool", "title", "key"], ["idempotency_key", "at"] if raw else [])

    def visits(self, *, raw: bool = False) -> pd.DataFrame:
        """What the web site was asked for, in the order of the requests."""
        rows = read_visits(self._ledger)
        return frame(rows, ["path", "query", "status"], ["user_agent", "at"] if raw else [])

    def events(self, run: str, *, raw: bool = False) -> pd.DataFrame:
        """What this bench's client was shown of a run; tokens that follow one another are one row."""
        with snapshot(self._workspace.database) as read:
            self._name_all(read)
        seen = self._shown(self._names.identity(run))
        if raw:
            every = [{"id": event.id, "event": event.name, "data": event.data} for event in seen]
            return frame(every, ["id", "event", "data"])
        rows = [
            {"event": name, "step": step, "what": what, "count": len(list(group))}
            for (name, step, what), group in groupby(seen, key=_told)
        ]
        return frame(rows, ["event", "step", "what", "count"])

    def processes(self, *, raw: bool = False) -> pd.DataFrame:
        """The live processes of this bench, each followed by those it started."""
        rows = [
            {
                "process": member.label,
                "role": member.role,
                "started_by": member.parent,
                "state": member.state,
                "pid": member.process.pid,
            }
            for member in members(self._workspace.records())
        ]
        return frame(rows, ["process", "role", "started_by", "state"], ["pid"] if raw else [])

    def sockets(self, *, raw: bool = False) -> pd.DataFrame:
        """Who listens, and who is connected to whom; a peer outside the bench is an address."""
        rows = [
            {"process": socket.label, "socket": socket.kind, "peer": socket.peer}
            | {"address": socket.address}
            for socket in connections(self._workspace.records())
        ]
        rows.sort(key=lambda row: (row["process"], row["socket"], row["peer"]))
        return frame(rows, ["process", "socket", "peer"], ["address"] if raw else [])

    def resources(self) -> pd.DataFrame:
        """What is held right now and by whom: processes, listening sockets, open files."""
        rows = [asdict(holding) for holding in holdings(self._workspace)]
        return frame(rows, ["resource", "kind", "holder"])

    def walk(self) -> pd.DataFrame:
        """Every stage of a run: how often it happened so far, and how much of it is kept where."""
        return walk(self)

    def files(self) -> pd.DataFrame:
        """What Sophos and the Memory server keep on disk."""
        directory, rows = self._workspace.directory, []
        for path in sorted(
            path for place in ("db", "memory") for path in (directory / place).rglob("*")
        ):
            with suppress(FileNotFoundError):  # a file that is replaced while we look
                name = path.relative_to(directory).as_posix()
                rows.append({"file": name, "bytes": path.stat().st_size})
        return frame(rows, ["file", "bytes"])

    def thread(self, conversation: str) -> Thread:
        """All that is stored for a thread, as values: what the frames of it are made from."""
        with snapshot(self._workspace.database) as read:
            self._name_all(read)
            thread = self._names.identity(conversation)
            return read_thread(read, thread, partial(self._call, thread))

    def _name_all(self, read: Read) -> None:
        for row in read("conversations", "SELECT id FROM conversations ORDER BY created_at, rowid"):
            self._conversation(row["id"])
        for row in read("runs", "SELECT id FROM runs ORDER BY sequence"):
            self._run(row["id"])

    def placed(self, text: str) -> str:
        """The text with `http://site` and the like in place of addresses with a port."""
        for record in self._workspace.records():
            if url := record.ready.get("url"):
                text = text.replace(url, f"http://{record.name}")
        return text

    def _conversation(self, conversation: str) -> str:
        return self._names.of("conversation", conversation)

    def _run(self, run: str | None) -> str:
        return self._names.of("run", run)

    def _call(self, thread: str, call: str) -> str:
        return self._names.of("call", call, among=thread)

    def _key(self, key: str | None) -> str:
        """`<thread>:<call>` in short names."""
        thread, colon, call = (key or "").partition(":")
        if not colon:
            return self._names.of("key", key)
        return f"{self._conversation(thread)}, {self._call(thread, call)}"


def _told(event: StreamEvent) -> tuple[str, int | str, str]:
    """What makes two events that follow one another the same row."""
    data = event.data
    match event.name:
        case "token":
            return event.name, data["step"], data["kind"]
        case "trace":
            return event.name, data["step"], f"{data['event']} {data['name']}"
        case _:
            return event.name, "", data.get("status") or data.get("code") or ""
