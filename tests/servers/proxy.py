"""A reverse proxy, as nginx and Caddy are set up before an application: TLS, a prefix, X-Forwarded.

    python proxy.py TO_PORT PREFIX [--keep-prefix] [--certificate FILE.pem] [--scheme https]

Prints its port. Bytes go on as they come, in both directions; a connection carries one request.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
import sys
from contextlib import suppress
from functools import partial

OURS = ("connection:", "host:", "x-forwarded-")


def rewritten(head: bytes, options: argparse.Namespace, client: str) -> bytes:
    """The head of a request as the application gets it; what a client forwarded is thrown away."""
    request, *headers = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, path, version = request.split(" ")
    if not options.keep_prefix:
        path = path.removeprefix(options.prefix)
    host = next(line.partition(":")[2].strip() for line in headers if line.lower()[:5] == "host:")
    kept = [line for line in headers if not line.lower().startswith(OURS)]
    forwarded = {"For": client, "Proto": options.scheme, "Host": host}
    lines = [
        f"{method} {path} {version}",
        *kept,
        f"Host: 127.0.0.1:{options.to}",
        "Connection: close",
        *(f"X-Forwarded-{name}: {value}" for name, value in forwarded.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, ssl.SSLError):
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    writer.close()


async def serve_one(
    options: argparse.Namespace, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()
        return
    upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", options.to)
    upstream.write(rewritten(head, options, writer.get_extra_info("peername")[0]))
    async with asyncio.TaskGroup() as both:
        sending = both.create_task(pump(reader, upstream))
        await pump(upstream_reader, writer)
        sending.cancel()


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", type=int)
    parser.add_argument("prefix")
    parser.add_argument("--keep-prefix", action="store_true")
    parser.add_argument("--certificate")
    parser.add_argument("--scheme", default="http")
    options = parser.parse_args()
    context = None
    if options.certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options.certificate)
    server = await asyncio.start_server(partial(serve_one, options), "127.0.0.1", 0, ssl=context)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
