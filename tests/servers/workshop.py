"""A tool server made with FastMCP, as people make them: over stdio, or over HTTP inside a test."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from mcp.server.fastmcp import FastMCP
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import AnyUrl

PIXEL = base64.b64encode(b"not really a picture").decode()


def workshop(ledger: Path) -> FastMCP:
    """`ledger` gets a line per effect."""
    server = FastMCP("workshop", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def record(line: str, tags: list[str] | None = None) -> str:
        with ledger.open("a", encoding="utf-8") as file:
            file.write(f"{line} {tags}\n")
        return line

    @server.tool(structured_output=False)
    def mixed() -> list[Any]:
        uri = AnyUrl("file:///notes.txt")
        return [
            TextContent(type="text", text="first"),
            ImageContent(type="image", data=PIXEL, mimeType="image/png"),
            AudioContent(type="audio", data=PIXEL, mimeType="audio/wav"),
            ResourceLink(type="resource_link", name="notes", uri=uri, size=7),
            EmbeddedResource(
                type="resource", resource=TextResourceContents(uri=uri, text="inside")
            ),
            EmbeddedResource(type="resource", resource=BlobResourceContents(uri=uri, blob=PIXEL)),
        ]

    @server.tool()
    def fail() -> str:
        raise ValueError("out of wood")

    return server


if __name__ == "__main__":
    import sys

    workshop(Path(sys.argv[1])).run()
