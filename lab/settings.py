"""Settings by name → the environment a lesson's Sophos is given. Reads the environment, keeps nothing.

tool_timeout=5                 SOPHOS_TOOL_TIMEOUT=5
ollama_model="qwen3"           OLLAMA_MODEL=qwen3
protect={"DRAIN": False}       SOPHOS_PROTECT_DRAIN=off
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sophos.protections import Protection

WITHOUT_PREFIX: Final = {
    "host": "HOST",
    "port": "PORT",
    "database_path": "DATABASE_PATH",
    "memory_file_path": "MEMORY_FILE_PATH",
    "config_dir": "CONFIG_DIR",
    "ollama_host": "OLLAMA_HOST",
    "ollama_model": "OLLAMA_MODEL",
    "ollama_think": "OLLAMA_THINK",
    "ollama_num_ctx": "OLLAMA_NUM_CTX",
    "recursion_limit": "AGENT_RECURSION_LIMIT",
}
PREFIX: Final = "SOPHOS_"
_TRACING: Final = ("LANGSMITH_", "LANGCHAIN_")
_LOOPBACK: Final = "127.0.0.1,localhost"


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without anyone's settings for Sophos, and with nothing sent elsewhere.

    A learner's own DATABASE_PATH must not reach a server that is going to be broken, no trace of
    a lesson is sent to a tracing service, and a proxy is not asked for this machine.
    """
    ours = set(WITHOUT_PREFIX.values())
    kept = {
        name: value
        for name, value in environ.items()
        if name not in ours and not name.startswith((PREFIX, *_TRACING))
    }
    for name in ("NO_PROXY", "no_proxy"):
        kept[name] = ",".join(filter(None, (environ.get(name), _LOOPBACK)))
    return kept


def variables(settings: Mapping[str, Any]) -> dict[str, str]:
    """The variables that say these settings. A value of None is a setting that is not set."""
    named: dict[str, str] = {}
    for name, value in settings.items():
        if name == "protect":
            named |= _protections(value)
        elif value is not None:
            named[WITHOUT_PREFIX.get(name, PREFIX + name.upper())] = _text(value)
    return named


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(sorted(map(str, value)))
    return str(value)


def _protections(protect: Mapping[str, bool]) -> dict[str, str]:
    if unknown := sorted(set(protect) - set(Protection)):
        raise ValueError(
            f"There is no protection {', '.join(unknown)}. There are {', '.join(Protection)}."
        )
    return {f"{PREFIX}PROTECT_{name}": "on" if is_on else "off" for name, is_on in protect.items()}
