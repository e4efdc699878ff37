"""Where data can go and where it goes: configured destinations, listeners, open connections.

Configured is what Sophos was told it may talk to: its model, its tool servers, a proxy, a tracing
service. Listening and connected is what the operating system says of the bench's processes now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

import pandas as pd

from lab.bench import Bench
from lab.display import lines
from lab.views.view import View, plain, table

HERE: Final = "this machine"
AWAY: Final = "LEAVES this machine"
UNDECIDED: Final = "what the tool is asked for"
_CONFIGURED: Final = ("OLLAMA_HOST",)
_OUTWARD: Final = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
    "OTEL_EXPORTER_OTLP_ENDPOINT",
)
_TRACING: Final = (
    *("LANGSMITH_TRACING", "LANGCHAIN_TRACING"),
    *("LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING_V2"),
)
_ENDPOINTS: Final = ("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT")
_TRACER: Final = "https://api.smith.langchain.com"  # where LangSmith's client sends by itself


def data_flows(bench: Bench, *, raw: bool = False) -> View:
    """`data`: flow, process, to, where. With `raw=True` also the address with its port."""
    environment = bench.sophos.process.environment
    configuration = bench.workspace.config / "mcp.json"
    names = {
        urlsplit(url).port: record.label
        for record in bench.workspace.records()
        if record.is_alive and (url := record.ready.get("url"))
    }
    rows = [
        *configured(environment, json.loads(configuration.read_text(encoding="utf-8")), names),
        *_sockets(bench),
    ]
    columns = ["flow", "process", "to", "where", *(["address"] if raw else [])]
    frame = pd.DataFrame(rows, columns=columns)
    text = lines("Data flows", *(f"  {line}" for line in plain(frame).splitlines()))
    return View(data=frame, text=text, html=table(frame, "Data flows"))


def configured(
    environment: Mapping[str, str], servers: Mapping[str, Any], names: Mapping[int | None, str]
) -> Iterator[dict[str, str]]:
    """Every destination that the settings and mcp.json name. `names` says who has which port here."""
    for variable in (*_CONFIGURED, *_OUTWARD):
        for name in (variable, variable.lower()):
            if url := environment.get(name):
                yield _configured(f"{variable} ", url, names)
                break
    # Sophos takes the tracing variables out of its environment, unless it is told not to.
    if environment.get("SOPHOS_TRACING") == "true" and any(
        environment.get(name, "").lower() == "true" for name in _TRACING
    ):
        endpoint = next(filter(None, map(environment.get, _ENDPOINTS)), _TRACER)
        yield _configured("tracing ", endpoint, names)
    for name, server in sorted(servers.get("mcpServers", servers).items()):
        if "url" in server:
            yield _configured(f"mcp {name} ", server["url"], names)
        else:
            where = UNDECIDED if name == "fetch" else HERE
            row = {"flow": "configured", "process": "server", "to": f"mcp {name} (child process)"}
            yield row | {"where": where, "address": ""}


def _configured(what: str, url: str, names: Mapping[int | None, str]) -> dict[str, str]:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    here = is_here(parts.hostname or "")
    who = names.get(parts.port) if here else None
    to = f"{what.strip()} → {who or parts.hostname}"
    row = {"flow": "configured", "process": "server", "to": to}
    return row | {"where": HERE if here else AWAY, "address": url}


def is_here(host: str) -> bool:
    """Whether a name or an address is this machine's own, as far as it can be told unasked."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _sockets(bench: Bench) -> Iterator[dict[str, str]]:
    seen = set()
    for row in bench.tables.sockets(raw=True).to_dict("records"):
        listens = row["socket"] == "listens"
        host = str(row["address"]).rpartition(":")[0]
        here = is_here(host) if listens else row["peer"] != row["address"] or is_here(host)
        to = ("anyone on " + (HERE if here else "the network")) if listens else row["peer"]
        to = to if here else f"{host}, outside the bench"
        flow = "listening" if listens else "connected"
        # Several connections to one peer are one flow.
        if (flow, row["process"], to) not in seen:
            seen.add((flow, row["process"], to))
            known = {"flow": flow, "process": row["process"], "to": to}
            yield known | {"where": HERE if here else AWAY, "address": row["address"]}
