"""Sophos behind a real proxy process, for the length of a block."""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from certificate import trusting, write_certificate
from served import Site, served

from sophos.testing.runtime import ScriptedRuntime

GIVE_UP = 40.0  # seconds without a byte; only what is held back takes that long
LOOPBACK = (ipaddress.ip_network("127.0.0.1"),)


@asynccontextmanager
async def proxy_process(to: int, prefix: str, *options: str) -> AsyncIterator[int]:
    """The port of a proxy in front of port `to`."""
    script = str(Path(__file__).parent / "proxy.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, script, str(to), prefix, *options, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def proxied(
    folder: Path,
    runtime: ScriptedRuntime | None = None,
    *,
    prefix: str = "/sophos",
    keep_prefix: bool = False,
    **settings: Any,
) -> AsyncIterator[Site]:
    """A site as its browsers see it: https://localhost:…/sophos/, through a proxy that ends TLS."""
    certificate = folder / "certificate.pem"
    write_certificate(certificate)
    options = ["--certificate", str(certificate), "--scheme", "https"]
    options += ["--keep-prefix"] if keep_prefix else []
    given = {"trusted_proxies": LOOPBACK, "root_path": prefix, **settings}
    async with (
        served(runtime, **given) as site,
        proxy_process(site.port, prefix, *options) as port,
        httpx.AsyncClient(
            base_url=f"https://localhost:{port}{prefix}",
            verify=trusting(),
            trust_env=False,
            timeout=GIVE_UP,
        ) as http,
    ):
        yield Site(http=http, runtime=site.runtime, port=site.port, stop=site.stop)
