"""The system prompt: read at every model call, never stored in a thread."""

from __future__ import annotations

from pathlib import Path

from sophos.errors import AgentFailure


def read_prompt(path: Path) -> str:
    """Raise AgentFailure naming the file and the remedy if it cannot be read or is empty."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AgentFailure(
            f"The system prompt {path.name} cannot be read. Put a UTF-8 text file into CONFIG_DIR."
        ) from error
    if not text:
        raise AgentFailure(f"The system prompt {path.name} is empty. Write a sentence into it.")
    return text
