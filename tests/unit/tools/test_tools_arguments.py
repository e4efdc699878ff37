"""Arguments arrive as the schema says, or not at all."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophos.tools.arguments import BadArguments, arguments_for

STRING = {"type": "string"}


def sent(schema: Any, value: Any) -> Any:
    return arguments_for({"properties": {"x": schema}}, {"x": value}, None)["x"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
TEXT = st.text(st.characters(codec="utf-8")) | JSON.map(json.dumps)


@given(TEXT)
def test_a_string_for_a_string_is_never_touched(text: str) -> None:
    assert sent(STRING, text) == text


@given(TEXT)
def test_what_the_schema_says_nothing_of_is_never_touched(text: str) -> None:
    assert sent({}, text) == text
    assert arguments_for({"properties": {}}, {"y": text}, None) == {"y": text}


@given(JSON)
def test_anything_else_for_a_string_becomes_the_same_json_text(value: Any) -> None:
    text = sent(STRING, value)
    assert text is None if value is None else json.loads(text) == value


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "array"}, '["a"]', ["a"]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "integer"}, "7", 7),
        ({"type": "number"}, "7", 7),
        ({"type": "number"}, 7, 7),
        ({"type": "boolean"}, "true", True),
        ({"type": "integer"}, "seven", "seven"),
        ({"type": "integer"}, True, True),
        ({"type": "array"}, '{"a": 1}', '{"a": 1}'),
        ({"type": ["string", "null"]}, None, None),
        ({"type": ["string", "null"]}, "null", "null"),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "[1]", [1]),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, [1], [1]),
        ({"anyOf": [{"$ref": "#/x"}, {"type": "null"}]}, "[1]", "[1]"),
        ({"type": 7}, "[1]", "[1]"),
    ],
)
def test_a_value_is_converted_only_into_what_the_schema_allows(
    schema: Any, value: Any, expected: Any
) -> None:
    found = sent(schema, value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("value", [{1, 2}, b"x", float("nan"), float("inf"), "\ud83d", object()])
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(BadArguments):
        sent({}, value)
    with pytest.raises(BadArguments):
        sent({}, [{"deep": value}])


def test_nesting_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(BadArguments):
        sent(STRING, endless)


def test_the_key_overrules_the_models_own() -> None:
    schema = {"properties": {"idempotency_key": STRING}}
    assert arguments_for(schema, {"idempotency_key": "x"}, "thread:1") == {
        "idempotency_key": "thread:1"
    }
