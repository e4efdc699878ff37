"""What a request may hold: ids, keys, cursors and bodies. What does not fit is a BAD_REQUEST."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import Header, Query
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    StringConstraints,
    Tag,
    WithJsonSchema,
)

from sophos.conversation import MESSAGE_LIMIT

UUID_PATTERN: Final = (
    r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
)

PAGE_LIMIT: Final = 200  # conversations
CURSOR_LIMIT: Final = 200  # characters

Id = Annotated[
    str,
    StringConstraints(pattern=UUID_PATTERN, to_lower=True),
    WithJsonSchema({"type": "string", "format": "uuid"}),
]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("a message must be more than white space")
    return text


def _only_true(value: bool) -> bool:
    if not value:
        raise ValueError("resume can only be true; leave it out to send a message")
    return value


class RequestBody(BaseModel):
    # Strict: "true" is not true and 5 is not "5"; a field that is not known is an error.
    model_config = ConfigDict(extra="forbid", strict=True)


class MessageRequest(RequestBody):
    """A message: the first of a new conversation, or the next turn of the one named."""

    message: Annotated[
        str,
        StringConstraints(max_length=MESSAGE_LIMIT),
        AfterValidator(_not_blank),
        WithJsonSchema({"type": "string", "maxLength": MESSAGE_LIMIT, "pattern": r"\S"}),
    ]
    conversation: Id | None = None


class ResumeRequest(RequestBody):
    """Go on with the unfinished work of a conversation."""

    # Not Literal[True]: that takes 1 for true.
    resume: Annotated[
        bool, AfterValidator(_only_true), WithJsonSchema({"type": "boolean", "const": True})
    ]
    conversation: Id


def _variant(body: Any) -> str:
    resume = isinstance(body, dict) and "resume" in body and "message" not in body
    return "resume" if resume else "message"


ChatRequest = Annotated[
    Annotated[MessageRequest, Tag("message")] | Annotated[ResumeRequest, Tag("resume")],
    Discriminator(_variant),
]
"""Exactly one of `message` and `resume`."""

IdempotencyKey = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,200}$")] | None,
    Header(
        alias="Idempotency-Key",
        description="The same key with the same body gets the first answer and starts nothing.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT)]
Before = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=CURSOR_LIMIT)] | None,
    Query(description="`next` of the page before."),
]
Since = Annotated[
    Annotated[str, StringConstraints(min_length=1, max_length=CURSOR_LIMIT)] | None,
    Query(description="From this checkpoint on, with it; from the first, if there is none such."),
]
Rendering = Annotated[
    Literal["html"] | None, Query(description="`html` adds safe HTML to each message.")
]
ExportFormat = Annotated[Literal["markdown", "jsonl"], Query()]
