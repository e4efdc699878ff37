"""LangGraph's saver on a connection of its own, behind the write barrier. All of it is durable.

The saver commits on the connection it holds, so it must not share ours: a row we rolled back
would survive. And it does not order a task's writes before the checkpoint that supersedes them:
killed between the two, finished tools run again. Awaiting the writes in flight before a
checkpoint is put is the *write barrier*.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from sophos.errors import StorageUnavailable, reading_record
from sophos.storage.connection import connect, storage_edge
from sophos.storage.head import Head, head_of, pending_nodes, well_formed
from sophos.storage.open_file import OpenFile
from sophos.storage.whole import whole

_VERSION_WIDTH: Final = 8  # digits
T = TypeVar("T")


class Observer(Protocol):
    """Hears of one thread's writes and checkpoints, each after the disk has them."""

    def writes_saved(self, writes: Sequence[tuple[str, Any]]) -> None: ...

    def checkpoint_saving(self, step: int) -> None: ...

    def checkpoint_saved(self, step: int, source: str) -> None: ...


class Checkpoints(AsyncSqliteSaver):
    """The saver that the graph is given."""

    def __init__(
        self, connection: aiosqlite.Connection, path: Path, *, file: OpenFile, barrier: bool
    ) -> None:
        super().__init__(connection)
        self._path = path
        self._file = file
        self._barrier = barrier
        self._in_flight: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._observers: dict[str, Observer] = {}
        self._turn = asyncio.Lock()
        self._found_locked = 0.0  # the loop's time when a wait for another program's lock was over

    @contextmanager
    def observed(self, thread: str, observer: Observer) -> Iterator[None]:
        """Tell `observer` of the thread's writes and checkpoints for as long as this is open."""
        self._observers[thread] = observer
        try:
            yield
        finally:
            del self._observers[thread]

    async def head(self, thread: str) -> Head | None:
        """The newest checkpoint of a thread; None if it has none."""
        found = await self.aget_tuple(_config(thread))
        return head_of(found) if found is not None else None

    async def history(self, thread: str) -> AsyncIterator[tuple[CheckpointTuple, tuple[str, ...]]]:
        """Every checkpoint, oldest first, with its pending nodes.

        Read on a connection of its own: the saver's lock is never held, so no run waits. Raises
        StorageUnavailable if the file is not at its path: opening it there would make an empty one.
        """
        self._file.check()
        async with open_checkpoints(
            self._path, file=self._file, barrier=False, erase=True
        ) as reader:
            with storage_edge(), reading_record():
                newest_first = [well_formed(found) async for found in reader.alist(_config(thread))]
        for found in reversed(newest_first):
            yield found, pending_nodes(found)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """A channel's next version: a number as text, of one width so that text orders it.

        The library's has sixty characters, several times over in each checkpoint, for savers
        that keep a channel's values by version. This one keeps them by checkpoint.
        """
        return f"{int(current or 0) + 1:0{_VERSION_WIDTH}}"

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with storage_edge(), reading_record():
            found = await super().aget_tuple(config)
            return well_formed(found) if found is not None else None

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What the checkpoints before this one added: how a thread kept as deltas is read."""
        with storage_edge(), reading_record():
            return await super().aget_delta_channel_history(config=config, channels=channels)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        thread = config["configurable"]["thread_id"]

        async def write() -> None:
            await super(Checkpoints, self).aput_writes(config, writes, task_id, task_path)
            self._file.check()
            if observer := self._observers.get(thread):
                observer.writes_saved(writes)

        done = asyncio.get_running_loop().create_future()
        self._in_flight[thread].add(done)
        try:
            await self._whole(write())
        finally:
            done.set_result(None)
            self._in_flight[thread].discard(done)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread = config["configurable"]["thread_id"]
        observer = self._observers.get(thread)

        async def write() -> RunnableConfig:
            saved = await super(Checkpoints, self).aput(config, checkpoint, metadata, new_versions)
            self._file.check()
            if observer:
                # One that only carries the writes of a run saved as it ends has no source.
                observer.checkpoint_saved(metadata["step"], metadata.get("source", "loop"))
            return saved

        if self._barrier:
            while waiting := self._in_flight[thread]:
                await asyncio.wait(waiting)
        if observer:
            observer.checkpoint_saving(metadata["step"])
        return await self._whole(write())

    async def adelete_thread(self, thread_id: str) -> None:
        await self.setup()
        await self._whole(super().adelete_thread(thread_id))
        self._in_flight.pop(thread_id, None)

    async def _whole(self, write: Coroutine[Any, Any, T]) -> T:
        return await whole(self._in_turn(write), connection=self.conn)

    async def _in_turn(self, write: Coroutine[Any, Any, T]) -> T:
        clock = asyncio.get_running_loop().time
        asked = clock()
        async with self._turn:
            if self._found_locked > asked:
                # As in Database.transaction: who waited behind one that waited in vain has waited
                # for the same. Whoever reads a thread waits behind them all.
                write.close()
                raise StorageUnavailable
            try:
                return await write
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                    self._found_locked = clock()
                raise


@asynccontextmanager
async def open_checkpoints(
    path: Path, *, file: OpenFile, barrier: bool, erase: bool
) -> AsyncIterator[Checkpoints]:
    """Open the saver's connection to the file that `open_database` made."""
    async with AsyncExitStack() as opened:
        with storage_edge():
            # The saver commits by itself and counts on the driver to begin its transactions.
            deferred = connect(path, isolation_level="DEFERRED", erase=erase)
            connection = await opened.enter_async_context(deferred)
            # The saver reads rows by place and unpacks them.
            connection.row_factory = None
            saver = Checkpoints(connection, path, file=file, barrier=barrier)
            await saver.setup()
        yield saver


def _config(thread: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}}
