"""What a tool says of itself, and what is made of it."""

from typing import Any

import pytest
from mcp.types import ToolAnnotations

from sophos.protections import Protection, Protections
from sophos.tools.catalogue import Catalogue, catalogue_of
from sophos.tools.effects import effects_of, key_for_attempt, without_key
from sophos.tools.link import LONGEST_PAUSE, pause
from sophos.tools.servers import Remote, Server

KEYED = {
    "properties": {"title": {"type": "string"}, "idempotency_key": {"type": "string"}},
    "required": ["title", "idempotency_key"],
}


def catalogue(*tools: Any) -> Catalogue:
    server = Server(
        name="lab",
        address=Remote(url="http://b", headers={}),
        optional=False,
        approval=frozenset({"named"}),
        timeout=None,
    )
    return catalogue_of(server, tools)


def test_a_promise_that_was_not_made_is_not_assumed() -> None:
    silent = effects_of(None, {})
    assert set(vars(silent).values()) == {False}
    assert not silent.repeatable
    assert effects_of(ToolAnnotations(), {}) == silent


@pytest.mark.parametrize(
    ("annotations", "schema", "repeatable"),
    [
        (ToolAnnotations(readOnlyHint=True), {}, True),
        (ToolAnnotations(idempotentHint=True), {}, True),
        (ToolAnnotations(destructiveHint=True), {}, False),
        (ToolAnnotations(destructiveHint=False), {}, False),
        (None, KEYED, True),
    ],
)
def test_a_call_may_be_repeated_where_a_repeat_is_harmless(
    annotations: ToolAnnotations | None, schema: Any, repeatable: bool
) -> None:
    assert effects_of(annotations, schema).repeatable is repeatable


def test_a_tool_that_claims_to_destroy_by_reading_is_believed_in_what_is_worse() -> None:
    effects = effects_of(ToolAnnotations(readOnlyHint=True, destructiveHint=True), {})
    assert (effects.read_only, effects.destructive) == (False, True)


def test_the_key_is_hidden_from_the_offer_and_kept_for_the_call() -> None:
    entry = catalogue({"name": "once", "inputSchema": KEYED})["lab__once"]
    assert entry.tool.schema["properties"] == {"title": {"type": "string"}}
    assert entry.tool.schema["required"] == ["title"]
    assert "idempotency_key" in entry.schema["properties"]
    assert entry.tool.idempotent
    assert without_key({"type": "object"}) == {"type": "object", "properties": {}}


def test_the_key_is_the_calls_own_unless_that_is_switched_off() -> None:
    off = Protections.without(Protection.IDEMPOTENCY_KEY)
    assert {key_for_attempt("thread:1", Protections()) for _ in range(3)} == {"thread:1"}
    assert len({key_for_attempt("thread:1", off) for _ in range(3)} | {"thread:1"}) == 4


def test_approval_is_needed_for_what_destroys_and_for_what_is_named() -> None:
    found = catalogue(
        {"name": "wipe", "inputSchema": {}, "annotations": {"destructiveHint": True}},
        {"name": "named", "inputSchema": {}},
        {"name": "plain", "inputSchema": {}},
    )
    assert [name for name in found if found[name].tool.needs_approval] == [
        "lab__wipe",
        "lab__named",
    ]


@pytest.mark.parametrize(
    "broken",
    [
        7,
        {},
        {"name": "x"},
        {"name": "", "inputSchema": {}},
        {"name": "a b", "inputSchema": {}},
        {"name": "x", "inputSchema": {"type": "array"}},
        {"name": "x", "inputSchema": {"properties": []}},
        {"name": "x", "inputSchema": {"required": [1]}},
    ],
)
def test_a_tool_that_no_model_could_be_offered_is_left_out_alone(broken: Any) -> None:
    assert list(catalogue(broken, {"name": "good", "inputSchema": {}})) == ["lab__good"]


def test_an_offer_is_an_object_with_described_properties_whatever_was_listed() -> None:
    listed = {"name": "x", "title": "A title", "inputSchema": {"properties": {"any": True}}}
    tool = catalogue(listed)["lab__x"].tool
    assert tool.schema == {"type": "object", "properties": {"any": {}}}
    assert tool.description == "A title"


def test_the_first_of_two_tools_with_one_name_stays() -> None:
    first = {"name": "x", "description": "first", "inputSchema": {}}
    found = catalogue(first, {**first, "description": "second"})
    assert found["lab__x"].tool.description == "first"


def test_the_pause_grows_from_the_second_failure_on_and_has_an_end() -> None:
    assert [pause(failures, 0) for failures in range(5)] == [0, 0, 0.5, 1, 2]
    assert pause(10_000, 0) == LONGEST_PAUSE
    assert pause(3, 0.75) == 0.25
    assert pause(3, 3600) == 0
