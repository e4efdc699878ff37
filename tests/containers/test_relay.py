"""The relay: bytes of one connection to one place and back, and nothing else."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from images import ROOT

RELAY: Final = [sys.executable, str(ROOT / "config/images/relay.py"), "--address", "127.0.0.1", "0"]
MUCH: Final = os.urandom(3_000_000)  # more than every buffer on the way


@contextmanager
def relay_to(port: int) -> Iterator[int]:
    process = subprocess.Popen(
        [*RELAY, f"127.0.0.1:{port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline().split()[1])
        finally:
            process.terminate()
    assert process.returncode == 0


def everything(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def test_a_side_that_has_said_all_still_hears_the_answer() -> None:
    def answer() -> None:
        with listener.accept()[0] as connection:
            connection.sendall(everything(connection)[::-1])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, daemon=True).start()
        with (
            relay_to(listener.getsockname()[1]) as port,
            socket.create_connection(("127.0.0.1", port)) as connection,
        ):
            threading.Thread(target=send, args=(connection, MUCH), daemon=True).start()
            assert everything(connection) == MUCH[::-1]


def test_where_nobody_answers_the_connection_is_broken_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = listener.getsockname()[1]
    with (
        relay_to(nobody) as port,
        socket.create_connection(("127.0.0.1", port)) as connection,
        pytest.raises(ConnectionResetError),
    ):
        connection.recv(1)


def test_the_end_of_one_side_ends_the_other() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        relay_to(listener.getsockname()[1]) as port,
        socket.create_connection(("127.0.0.1", port)) as near,
    ):
        far = listener.accept()[0]
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        far.close()  # with a reset
        with pytest.raises(ConnectionResetError):
            near.recv(1)


@pytest.mark.parametrize("to", ["", "sophos", "sophos:", ":5173", "sophos:0", "sophos:99999"])
def test_a_place_that_is_none_is_refused_at_once(to: str) -> None:
    ended = subprocess.run([*RELAY, to], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "invalid destination value" in ended.stderr
