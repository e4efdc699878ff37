"""Whatever a tool returns → text a model can be sent.

The result is read as plain JSON and not as the MCP library's types, which know the kinds of content
of their own release and refuse a whole result over one they do not know.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sophos.tool import ToolResult

NOTHING: Final = "(The tool returned nothing.)"
NO_REASON: Final = "The tool failed and gave no reason."
_REPLACEMENT: Final = "\ufffd"


def result_of(answer: Mapping[str, Any], limit: int) -> ToolResult:
    """The outcome of a call that was answered; its text has at most `limit` characters and a note."""
    failed = answer.get("isError") is True
    return ToolResult(
        text=cut(safe(_text(answer)), limit) or (NO_REASON if failed else NOTHING),
        status="error" if failed else "success",
    )


def error_result(text: str, limit: int) -> ToolResult:
    return ToolResult(text=cut(safe(text), limit) or NO_REASON, status="error")


def cut(text: str, limit: int) -> str:
    """The first `limit` characters, and a note of how many there were."""
    if len(text) <= limit:
        return text
    return (
        f"{text[:limit]}\n\n[Cut here: {len(text) - limit:,} of {len(text):,} characters left out.]"
    )


def safe(text: str) -> str:
    """The text without what some later reader would choke on: NULs and halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        # Two halves that belong together become their character; a lone one becomes �.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", _REPLACEMENT)


def _text(answer: Mapping[str, Any]) -> str:
    content = answer.get("content")
    blocks = content if isinstance(content, list) else [content] if content else []
    if blocks:
        return "\n\n".join(filter(None, map(_block, blocks)))
    # Servers repeat structured content as text for clients that do not know it. Only where one
    # did not is it of use.
    structured = answer.get("structuredContent")
    if structured is None:
        return ""
    try:
        return json.dumps(structured, ensure_ascii=False)
    except RecursionError:
        return "[structured content, nested too deeply to be shown]"


def _block(block: Any) -> str:
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else "[Something that is not content.]"
    match block.get("type"):
        case "text":
            return _word(block, "text")
        case "image" | "audio" as kind:
            size = _size(block.get("data"))
            return f"[{kind}: {_word(block, 'mimeType', 'unknown type')}, {size}, not shown]"
        case "resource_link":
            return _link(block)
        case "resource":
            return _resource(block.get("resource"))
        case other:
            kind = other if isinstance(other, str) else "no type"
            return f"[content of a kind that cannot be shown: {cut(kind, 50)}]"


def _link(block: Mapping[str, Any]) -> str:
    name = _word(block, "title") or _word(block, "name", "unnamed")
    details = [_word(block, "mimeType")]
    if isinstance(block.get("size"), int):
        details.append(f"{block['size']:,} bytes")
    described = ", ".join(filter(None, details))
    text = f"[link: {name}, {_word(block, 'uri', 'no address')}"
    text += f" ({described})]" if described else "]"
    return f"{text} {_word(block, 'description')}".rstrip()


def _resource(resource: Any) -> str:
    if not isinstance(resource, Mapping):
        return "[resource: empty]"
    uri = _word(resource, "uri", "no address")
    if isinstance(resource.get("text"), str):
        return f"[resource: {uri}]\n{resource['text']}"
    kind = _word(resource, "mimeType", "unknown type")
    return f"[resource: {uri}, {kind}, {_size(resource.get('blob'))}, not shown]"


def _size(base64: Any) -> str:
    if not isinstance(base64, str):
        return "no data"
    return f"{len(base64.rstrip('=')) * 3 // 4:,} bytes"


def _word(block: Mapping[str, Any], key: str, default: str = "") -> str:
    value = block.get(key)
    return value if isinstance(value, str) and value else default
