"""What a model, a tool or a person wrote becomes HTML that does nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophos.conversation import Message
from sophos.web.render import MARKDOWN_LIMIT, Renderer, plain

RENDERER = Renderer()
TAGS = {
    *("p", "br", "hr", "blockquote", "pre", "code", "em", "strong", "s", "a", "ul", "ol", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"href", "title", "target", "rel", "start"}


class Audit(HTMLParser):
    """Fails on a tag, an attribute or an address that is not known to be harmless."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            if name == "href":
                assert (value or "").lower().startswith(("http:", "https:", "mailto:")), value


def audited(markdown: str) -> str:
    html = RENDERER.markdown(markdown)
    audit = Audit(convert_charrefs=True)
    audit.feed(html)
    audit.close()
    return html


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src='http://evil.example'></iframe>",
    "<style>@import 'http://evil.example/x.css'</style>",
    "![x](http://evil.example/pixel.png)",
    "![x][y]\n\n[y]: http://evil.example/pixel.png",
    "![x](/api/conversations)",
    "![x](data:image/svg+xml;base64,AAAA)",
    '![" onerror="alert(1)](http://a/"onerror="alert(1))',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/api/conversations)",
    "[x](#composer)",
    "<javascript:alert(1)>",
    '[x](http://a "onmouseover=alert(1)")',
    "[x]: javascript:alert(1)\n\n[x]",
    "```html\n<script>alert(1)</script>\n```",
    "``` <img src=x onerror=alert(1)>\nx\n```",
    "| <script> |\n|---|\n| <img src=x> |",
    "[![x](http://evil.example/a.png)](javascript:alert(1))",
    "<!--><script>alert(1)</script>-->",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "\x00<script>\x00alert(1)</script>",
]


@pytest.mark.parametrize("markdown", HOSTILE)
def test_hostile_markdown_is_inert(markdown: str) -> None:
    audited(markdown)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*HOSTILE, "[", "](", ")", "<", ">", "`", "\n", "> ", "&#"])))
def test_no_mixture_of_hostile_markdown_gets_through(parts: list[str]) -> None:
    """Only known tags, known attributes and web or mail addresses, whatever the text."""
    audited("".join(parts))


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_no_text_makes_rendering_fail(text: str) -> None:
    """Every text renders, and what it shows is in the alphabet of the audit."""
    audited(text)


def test_an_image_becomes_a_link_to_it() -> None:
    html = audited("![a *cat*](https://example.com/cat.png)")
    assert '<a href="https://example.com/cat.png"' in html
    assert ">a cat</a>" in html
    assert audited("[![cat](https://a/c.png)](https://b)").count("<a ") == 1


def test_a_link_leads_out_without_telling_where_from() -> None:
    html = audited("[x](https://example.com)")
    assert 'rel="noopener noreferrer nofollow"' in html
    assert 'target="_blank"' in html


def test_code_is_kept_to_the_letter() -> None:
    assert audited("```python\nif a < b:\n    pass\n```") == (
        "<pre><code>if a &lt; b:\n    pass\n</code></pre>\n"
    )


def test_only_an_answer_is_read_as_markdown() -> None:
    text = "*a* <b>\nb"
    assert RENDERER.rendered(message("assistant", text)) == "<p><em>a</em> &lt;b&gt;\nb</p>\n"
    for role in ("user", "tool"):
        assert RENDERER.rendered(message(role, text)) == "<pre>*a* &lt;b&gt;\nb</pre>"


def test_an_answer_too_long_for_markdown_is_shown_as_it_is() -> None:
    text = "*" * (MARKDOWN_LIMIT + 1)
    assert RENDERER.rendered(message("assistant", text)) == plain(text)


def message(role: str, content: str) -> Message:
    return Message(id="m", role=role, content=content, run=None)  # type: ignore[arg-type] # a test's word
