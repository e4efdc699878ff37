"""Every setting: its variable, its default, one sentence. The only reader of the environment.

`Settings.read(os.environ)` is called once, in `__main__`; everything else is handed plain values.
An unknown SOPHOS_… variable or an unusable value raises StartupError and names it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from sophos.errors import StartupError
from sophos.failpoints import Failpoint, parse_failpoints
from sophos.protections import Protection, Protections
from sophos.variables import (
    WORDS,
    Network,
    names,
    networks,
    number,
    prefix,
    seconds,
    stdin,
    token,
    truth,
    url,
)

PROTECT_PREFIX: Final = "SOPHOS_PROTECT_"
# What a tool server inherits: where things are, how to speak, how to reach the network. Nothing else.
_INHERITED: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP"
    r"|(HTTP|HTTPS|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|NODE_EXTRA_CA_CERTS"
    r"|SYSTEMROOT|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE",
    re.IGNORECASE,
)


def _setting(
    variable: str,
    default: Any,
    meaning: str,
    parse: Callable[[str], Any] = str,
    *,
    secret: bool = False,
) -> Any:
    row = {"variable": variable, "meaning": meaning, "parse": parse}
    return field(default=default, repr=not secret, metadata=row)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One row per setting. Paths are relative to the working directory; times are in seconds."""

    host: str = _setting("HOST", "127.0.0.1", "The address to listen on.")
    port: int = _setting(
        "PORT", 5173, "The port to listen on; 0 picks a free one.", number(0, 65535)
    )
    database_path: Path = _setting(
        "DATABASE_PATH", Path("data/db/sophos.db"), "The one file that holds the record.", Path
    )
    memory_file_path: Path = _setting(
        "MEMORY_FILE_PATH", Path("data/memory/memory.jsonl"), "The Memory server's file.", Path
    )
    config_dir: Path = _setting(
        "CONFIG_DIR", Path("config"), "The folder of mcp.json and system.md.", Path
    )
    ollama_host: str = _setting(
        "OLLAMA_HOST", "http://localhost:11434", "The model server.", url, secret=True
    )
    ollama_model: str = _setting("OLLAMA_MODEL", "qwen3", "The model to ask for.")
    ollama_think: bool = _setting("OLLAMA_THINK", True, "Whether to ask for reasoning.", truth)
    ollama_num_ctx: int = _setting(
        "OLLAMA_NUM_CTX", 16_384, "The context to ask for, in tokens.", number(512, 10_000_000)
    )
    recursion_limit: int = _setting(
        "AGENT_RECURSION_LIMIT", 25, "The most steps one run may take.", number(1, 1000)
    )
    max_attempts: int = _setting(
        "SOPHOS_MAX_ATTEMPTS", 5, "The most attempts at the same work in a row.", number(1, 1000)
    )
    tool_timeout: float = _setting(
        "SOPHOS_TOOL_TIMEOUT",
        60.0,
        "Seconds for a tool server to start, to list or to answer.",
        seconds,
    )
    tool_result_limit: int = _setting(
        "SOPHOS_TOOL_RESULT_LIMIT",
        50_000,
        "The most characters of a tool result.",
        number(100, 10_000_000),
    )
    model_first_token_timeout: float = _setting(
        "SOPHOS_MODEL_FIRST_TOKEN_TIMEOUT",
        600.0,
        "Seconds to wait for a reply's first token.",
        seconds,
    )
    model_token_timeout: float = _setting(
        "SOPHOS_MODEL_TOKEN_TIMEOUT", 120.0, "Seconds to wait for each further token.", seconds
    )
    shutdown_grace: float = _setting(
        "SOPHOS_SHUTDOWN_GRACE",
        10.0,
        "Seconds a shutdown lets runs reach a step boundary.",
        seconds,
    )
    allowed_hosts: frozenset[str] = _setting(
        "SOPHOS_ALLOWED_HOSTS", frozenset(), "Further Host names to answer to, with commas.", names
    )
    token: str | None = _setting(
        "SOPHOS_TOKEN",
        None,
        "The token a client must send; needed off loopback.",
        token,
        secret=True,
    )
    trusted_proxies: tuple[Network, ...] = _setting(
        "SOPHOS_TRUSTED_PROXIES",
        (),
        "Addresses or networks whose X-Forwarded headers count, with commas.",
        networks,
    )
    root_path: str = _setting(
        "SOPHOS_ROOT_PATH", "", "The path a proxy serves this under, as in /sophos.", prefix
    )
    tracing: bool = _setting(
        "SOPHOS_TRACING",
        False,
        "Whether LANGSMITH_… variables may have messages sent to a tracing service.",
        truth,
    )
    ready_file: Path | None = _setting(
        "SOPHOS_READY_FILE", None, "Where pid, port, boot id and URL appear when serving.", Path
    )
    owner_pipe: str | None = _setting(
        "SOPHOS_OWNER_PIPE", None, "Set to stdin to exit when standard input closes.", stdin
    )
    failpoints: tuple[Failpoint, ...] = _setting(
        "SOPHOS_FAILPOINTS", (), "Points to stop at, as in sophos/failpoints.py.", parse_failpoints
    )
    failpoint_log: Path | None = _setting(
        "SOPHOS_FAILPOINT_LOG", None, "The file each hit of a failpoint is written to.", Path
    )
    protections: Protections = field(default_factory=Protections)
    # Not shown: a proxy's address may hold a password.
    child_environment: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Settings:
        """Read the environment. An empty variable counts as not set."""
        values: dict[str, Any] = {}
        known: set[str] = set()
        for row in fields(cls):
            if not row.metadata:
                continue
            variable = row.metadata["variable"]
            known.add(variable)
            if text := environ.get(variable, ""):
                try:
                    values[row.name] = row.metadata["parse"](text)
                except ValueError as error:
                    # The value may be a secret: it is named, never shown.
                    raise StartupError(f"{variable} cannot be used: {error}.") from error
        settings = cls(
            **values,
            protections=_protections(environ),
            child_environment={
                name: value for name, value in environ.items() if _INHERITED.fullmatch(name)
            },
        )
        _refuse_unknown(environ, known)
        settings._refuse_open_door()
        return settings

    def _refuse_open_door(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise StartupError(
                f"HOST {self.host} can be reached from other machines."
                " Set SOPHOS_TOKEN, or listen on 127.0.0.1."
            )


def is_loopback(host: str) -> bool:
    """Whether an address or name, without a port, means this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _protections(environ: Mapping[str, str]) -> Protections:
    off = set()
    for protection in Protection:
        text = environ.get(PROTECT_PREFIX + protection, "")
        if text and text.lower() not in WORDS:
            raise StartupError(f"{PROTECT_PREFIX}{protection} cannot be used: write on or off.")
        if text and not WORDS[text.lower()]:
            off.add(protection)
    return Protections(off=frozenset(off))


def _refuse_unknown(environ: Mapping[str, str], known: set[str]) -> None:
    allowed = known | {PROTECT_PREFIX + protection for protection in Protection}
    unknown = sorted(name for name in environ if name.startswith("SOPHOS_") and name not in allowed)
    # The lab's own variables may stand in the environment that Sophos inherits.
    unknown = [name for name in unknown if not name.startswith("SOPHOS_LAB_")]
    if unknown:
        raise StartupError(
            f"There is no setting {', '.join(unknown)}. `python -m sophos --settings` lists them."
        )
