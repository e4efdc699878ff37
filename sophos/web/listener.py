"""The listening socket: taken before anything slow is imported, so that a busy port is told at once."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from typing import Final

from sophos.errors import StartupError

BACKLOG: Final = 1024  # connections that wait to be accepted
_NOT_OURS: Final = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 picks a free one. Raises StartupError with the remedy.

    Whoever connects from now on waits until the server answers, and is not refused.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise StartupError(f"HOST {host} cannot be resolved. Set it to 127.0.0.1.") from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # Without it a restart is refused while connections of the process before linger.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise StartupError(_refusal(error, host, port)) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """Where a browser on this machine finds the server."""
    host, port = listener.getsockname()[:2]
    return url(host, port)


def url(host: str, port: int) -> str:
    address = ipaddress.ip_address(host.partition("%")[0])
    if address.is_unspecified:
        return f"http://localhost:{port}"
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"


def port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port


def _refusal(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken. Stop the process that listens there, or set PORT"
            " to another one (0 picks a free one)."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} needs rights this user does not have. Set PORT to 1024 or above."
    if error.errno in _NOT_OURS:
        return f"HOST {host} is not an address of this machine. Set it to 127.0.0.1."
    return f"Port {port} on {host} cannot be listened on: {os.strerror(error.errno or 0)}."
