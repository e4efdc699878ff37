"""Whatever a tool returns is text that the next model call can carry."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophos.tools.results import NO_REASON, NOTHING, cut, error_result, result_of, safe


def text_of(*blocks: Any, **answer: Any) -> str:
    return result_of({"content": list(blocks), **answer}, 10_000).text


def test_text_blocks_are_joined_by_a_blank_line() -> None:
    blocks = [{"type": "text", "text": text} for text in ("one", "", "two")]
    assert text_of(*blocks) == "one\n\ntwo"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
            "[image: image/png, 5 bytes, not shown]",
        ),
        ({"type": "audio"}, "[audio: unknown type, no data, not shown]"),
        (
            {"type": "resource_link", "name": "n", "uri": "u:v", "description": "About."},
            "[link: n, u:v] About.",
        ),
        ({"type": "resource", "resource": {"uri": "u:v", "text": "in"}}, "[resource: u:v]\nin"),
        (
            {"type": "resource", "resource": {"uri": "u:v", "blob": "aGk=", "mimeType": "a/b"}},
            "[resource: u:v, a/b, 2 bytes, not shown]",
        ),
        ({"type": "hologram"}, "[content of a kind that cannot be shown: hologram]"),
        ({"text": 7}, "[content of a kind that cannot be shown: no type]"),
        (7, "[Something that is not content.]"),
    ],
)
def test_what_is_not_text_is_described(block: Any, text: str) -> None:
    assert text_of(block) == text


def test_structured_content_counts_only_where_nothing_else_is() -> None:
    text = {"type": "text", "text": "said"}
    assert text_of(structuredContent={"a": "ü"}) == '{"a": "ü"}'
    assert text_of(text, structuredContent={"a": 1}) == "said"


def test_nothing_says_so() -> None:
    assert text_of() == NOTHING
    assert text_of(isError=True) == NO_REASON
    assert error_result("", 100).text == NO_REASON


def test_an_error_of_the_tool_is_an_error() -> None:
    assert result_of({"isError": True, "content": []}, 100).status == "error"
    assert result_of({"content": []}, 100).status == "success"


def test_a_long_text_is_cut_and_says_how_much_is_missing() -> None:
    assert cut("x" * 100, 100) == "x" * 100
    assert (
        cut("x" * 1_600, 100) == "x" * 100 + "\n\n[Cut here: 1,500 of 1,600 characters left out.]"
    )


def test_halves_of_characters_and_nuls_are_replaced_and_pairs_are_joined() -> None:
    assert safe("a\ud83d\0b") == "a\ufffd\ufffdb"
    assert safe("\ud83d\ude00") == "😀"
    assert safe("ü 😀") == "ü 😀"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["text", "image", "audio", "resource", "resource_link"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "data", "uri", "resource", "size", "blob", "name"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
ANSWERS = st.dictionaries(
    st.sampled_from(["content", "structuredContent", "isError", "_meta"]), VALUES
)


@given(ANSWERS, st.integers(1, 50))
def test_any_answer_becomes_text_that_json_can_carry_and_is_bounded(
    answer: dict[str, Any], limit: int
) -> None:
    result = result_of(answer, limit)
    assert result.text
    assert len(result.text) <= max(limit + 100, len(NO_REASON))
    assert json.loads(json.dumps(result.text).encode()) == result.text
    assert "\0" not in result.text
    result.text.encode()
