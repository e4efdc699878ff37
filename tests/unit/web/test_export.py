"""A transcript's parts: what a tool gave cannot pass for what somebody said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sophos.conversation import Message, ToolCall
from sophos.web.export import fenced, markdown_message


@given(st.text(alphabet="`\n a"))
def test_a_fence_cannot_be_left_from_inside(text: str) -> None:
    """No line of the text is a fence as long as the one around it."""
    first, *lines, last = fenced(text).split("\n")
    assert first == last
    assert all(first not in line for line in lines)


def test_a_call_is_told_with_its_arguments() -> None:
    call = ToolCall(id="c", name="site__fetch", args={"url": "http://é"})
    message = Message(id="m", role="assistant", content="", run=None, tool_calls=(call,))
    assert markdown_message(message) == (
        '## Assistant\n\nCalls `site__fetch`:\n\n```json\n{\n  "url": "http://é"\n}\n```\n'
    )


def test_reasoning_is_left_out() -> None:
    message = Message(id="m", role="assistant", content="yes", run=None, reasoning="because")
    assert markdown_message(message) == "## Assistant\n\nyes\n"
