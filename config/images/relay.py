"""relay.py PORT HOST:PORT: pass every connection on to one place, and to no other.

A container that stands between two networks runs this and nothing else. It reads no byte of what
it passes on, and takes its one destination from its command line, never from whoever connects.
It holds nothing that outlives a connection. Standard library alone.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

CONNECT_WITHIN: Final = 10.0  # seconds for the destination to accept
READ_AT_ONCE: Final = 65_536  # bytes
MOST_CONNECTIONS: Final = 512  # further ones wait until one ends


def destination(text: str) -> tuple[str, int]:
    """`host:port` as its parts; argparse turns the ValueError into its own message."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ValueError(text)
    return host.strip("[]"), int(port)


async def relay(port: int, host: str, to: int, *, address: str = "0.0.0.0") -> None:  # noqa: S104 - a container's own
    """Listen until SIGTERM or SIGINT; then the connections are cut."""
    room = asyncio.Semaphore(MOST_CONNECTIONS)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with room:
            await _join(reader, writer, host, to)

    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    server = await asyncio.start_server(serve, address, port)
    print(f"Port {server.sockets[0].getsockname()[1]} leads to {host}:{to}.", flush=True)
    await stopped.wait()
    server.close()


async def _join(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int
) -> None:
    try:
        async with asyncio.timeout(CONNECT_WITHIN):
            far_reader, far_writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError) as error:
        print(f"{host}:{port} cannot be reached: {error!r}.", file=sys.stderr, flush=True)
        _break_off(writer)
        return
    try:
        # A request may be over while its answer still comes: each direction ends by itself.
        await asyncio.gather(_pass(reader, far_writer), _pass(far_reader, writer))
    finally:
        for end in (writer, far_writer):
            end.close()


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while piece := await source.read(READ_AT_ONCE):
            sink.write(piece)
            await sink.drain()
        with suppress(OSError):
            sink.write_eof()
        await sink.drain()
    except OSError:
        # One side broke off: the other must not wait for what will not come.
        _break_off(sink)


def _break_off(writer: asyncio.StreamWriter) -> None:
    # With a reset: a plain end would read as if everything had been said.
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int, help="where to listen; 0 picks a free one")
    parser.add_argument("to", type=destination, help="the one destination, as host:port")
    parser.add_argument("--address", default="0.0.0.0", help="the address to listen on")  # noqa: S104
    options = parser.parse_args(arguments)
    asyncio.run(relay(options.port, *options.to, address=options.address))
    return 0


if __name__ == "__main__":
    sys.exit(main())
