"""Markdown from the record → HTML that runs nothing, loads nothing and looks like nothing of ours.

Two walls, each enough alone: the parser writes no raw HTML and no image, and the sanitiser lets
through only the tags and attributes listed here. The cache dies with the process.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from sophos.conversation import Message

MARKDOWN_LIMIT: Final = 50_000  # characters; parsing hostile text takes the square of its length
_PAGE_LEVELS: Final = 2  # of headings the page has itself
CACHED: Final = 1_000  # messages; a record only grows, so a reload renders what is new

_LINK: Final = re.compile(r"(https?|mailto):", re.IGNORECASE)
_CLEANER: Final = nh3.Cleaner(
    tags={
        *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "a"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    },
    attributes={"a": {"href", "title"}, "ol": {"start"}},
    set_tag_attribute_values={"a": {"target": "_blank"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
)


class _Renderer(RendererHTML):
    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """A link to the image, or its description inside a link: showing it would fetch it."""
        image = tokens[idx]
        text = html.escape(self.renderInlineAsText(image.children or [], options, env) or "image")
        before = [token.type for token in tokens[:idx]]
        if before.count("link_open") > before.count("link_close"):
            return text
        return f'<a href="{html.escape(str(image.attrs["src"]))}">{text}</a>'

    def heading_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """An answer's headings stand below the page's own, which its message has at level 2."""
        tokens[idx].tag = _lowered(tokens[idx].tag)
        return self.renderToken(tokens, idx, options, env)

    def heading_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        tokens[idx].tag = _lowered(tokens[idx].tag)
        return self.renderToken(tokens, idx, options, env)


def _lowered(tag: str) -> str:
    return f"h{min(int(tag[1:]) + _PAGE_LEVELS, 6)}"


class Renderer:
    """Renders messages of the record; each text once, as long as it is in the cache."""

    def __init__(self) -> None:
        self._markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
        self._markdown.enable(["table", "strikethrough"])
        # A link that is neither of the web nor a mail address stays the text it is.
        self._markdown.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign] # the library's documented way
        self._cached = lru_cache(maxsize=CACHED)(self.markdown)

    def rendered(self, message: Message) -> str:
        """An answer as Markdown; what a person typed or a tool gave as it is."""
        if message.role == "assistant" and len(message.content) <= MARKDOWN_LIMIT:
            return self._cached(message.content)
        return plain(message.content)

    def markdown(self, text: str) -> str:
        return _CLEANER.clean(self._markdown.render(text))


def plain(text: str) -> str:
    """Text with its line breaks, and nothing read into it."""
    return f"<pre>{html.escape(text, quote=False)}</pre>" if text else ""
