"""What can go wrong, and what to do about it.

    SophosError
    ├── RequestError                      the caller can mend it; nothing was changed
    │   ├── BadRequest                    BAD_REQUEST
    │   ├── MessageTooLarge               MESSAGE_TOO_LARGE
    │   ├── UnsupportedMediaType          UNSUPPORTED_MEDIA_TYPE
    │   ├── Unauthorised                  UNAUTHORISED
    │   ├── TooManyGuesses                TOO_MANY_GUESSES
    │   ├── ForbiddenHost                 FORBIDDEN_HOST
    │   ├── ForbiddenOrigin               FORBIDDEN_ORIGIN
    │   ├── NotFound                      NOT_FOUND
    │   ├── MethodNotAllowed              METHOD_NOT_ALLOWED
    │   ├── SessionInProgress             SESSION_IN_PROGRESS
    │   ├── RunWaiting                    RUN_WAITING
    │   ├── RunNotResumable               RUN_NOT_RESUMABLE
    │   ├── RunNotActive                  RUN_NOT_ACTIVE
    │   ├── DecisionNotPending            DECISION_NOT_PENDING
    │   ├── IdempotencyKeyReused          IDEMPOTENCY_KEY_REUSED
    │   └── ShuttingDown                  SHUTTING_DOWN
    ├── RunFailure                        a run ended as `failed`; its row keeps code and message
    │   ├── ModelUnreachable              MODEL_UNREACHABLE
    │   ├── ModelUnavailable              MODEL_UNAVAILABLE
    │   ├── ModelFailed                   MODEL_FAILED
    │   ├── ToolsUnavailable              TOOLS_UNAVAILABLE
    │   ├── RecursionLimit                RECURSION_LIMIT
    │   ├── AttemptsExhausted             ATTEMPTS_EXHAUSTED
    │   └── AgentFailure                  AGENT_FAILURE
    ├── StorageUnavailable                STORAGE_UNAVAILABLE    in a request, in a run, or at start-up
    │   └── RecordDamaged                 STORAGE_UNAVAILABLE    of one conversation
    └── StartupError                      STARTUP_FAILED         the process does not start

A class's docstring is its default message: it is shown to people and says what to do.
A foreign error becomes one of these where the foreign library is, with `raise … from`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar


class SophosError(Exception):
    """Something went wrong. Read the server's log."""

    code: ClassVar[str] = "SOPHOS_ERROR"

    def __init__(
        self, message: str | None = None, *, conversation: str | None = None, run: str | None = None
    ) -> None:
        self.message = message or inspect.cleandoc(type(self).__doc__ or "")
        self.conversation = conversation
        self.run = run
        super().__init__(self.message)


class RequestError(SophosError):
    """The request was refused and nothing was changed."""


class BadRequest(RequestError):
    """The request is not one this server understands. Compare it with /openapi.json."""

    code = "BAD_REQUEST"


class MessageTooLarge(RequestError):
    """The message is too long. Send at most 100,000 characters."""

    code = "MESSAGE_TOO_LARGE"


class UnsupportedMediaType(RequestError):
    """The body must be JSON. Send it with Content-Type: application/json."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class Unauthorised(RequestError):
    """A token is needed. Sign in at sign-in, or send Authorization: Bearer with SOPHOS_TOKEN's value."""

    code = "UNAUTHORISED"


class TooManyGuesses(RequestError):
    """Too many wrong tokens came from this address. Wait as many seconds as Retry-After says."""

    code = "TOO_MANY_GUESSES"

    def __init__(self, message: str | None = None, *, wait: int = 0, **ids: str | None) -> None:
        """`wait` is in seconds."""
        super().__init__(message, **ids)
        self.wait = wait


class ForbiddenHost(RequestError):
    """The Host header names a host this server is not. Add it to SOPHOS_ALLOWED_HOSTS if it is."""

    code = "FORBIDDEN_HOST"


class ForbiddenOrigin(RequestError):
    """Another site's page sent this request. Only pages of this server may change anything."""

    code = "FORBIDDEN_ORIGIN"


class NotFound(RequestError):
    """There is nothing with that id. It may have been deleted."""

    code = "NOT_FOUND"


class MethodNotAllowed(RequestError):
    """This route does not answer to that method. The Allow header names one that it takes."""

    code = "METHOD_NOT_ALLOWED"


class SessionInProgress(RequestError):
    """A run is active on this conversation. Wait for its end, or cancel it."""

    code = "SESSION_IN_PROGRESS"


class RunWaiting(RequestError):
    """The conversation's run waits for a decision. Approve or reject the tool call first."""

    code = "RUN_WAITING"


class RunNotResumable(RequestError):
    """No work is left on this conversation. Send a message instead."""

    code = "RUN_NOT_RESUMABLE"


class RunNotActive(RequestError):
    """The run has already ended. Read its outcome instead."""

    code = "RUN_NOT_ACTIVE"


class DecisionNotPending(RequestError):
    """No decision is pending for that tool call. It may have been decided already."""

    code = "DECISION_NOT_PENDING"


class IdempotencyKeyReused(RequestError):
    """This Idempotency-Key came with another body before. Use a new key for a new request."""

    code = "IDEMPOTENCY_KEY_REUSED"


class ShuttingDown(RequestError):
    """The server is shutting down and takes no new runs. Try again in a few seconds."""

    code = "SHUTTING_DOWN"


class RunFailure(SophosError):
    """The run failed. What was finished before stays; resume to go on."""

    code = "RUN_FAILURE"


class ModelUnreachable(RunFailure):
    """The model server does not answer. Start it, or correct OLLAMA_HOST, then resume."""

    code = "MODEL_UNREACHABLE"


class ModelUnavailable(RunFailure):
    """The model server does not have this model. Pull it, or correct OLLAMA_MODEL, then resume."""

    code = "MODEL_UNAVAILABLE"


class ModelFailed(RunFailure):
    """The model server did not finish its reply. Resume to ask again."""

    code = "MODEL_FAILED"


class ToolsUnavailable(RunFailure):
    """A tool server could not be started. Correct config/mcp.json, then resume."""

    code = "TOOLS_UNAVAILABLE"


class RecursionLimit(RunFailure):
    """The run used all its steps. Resume to grant it as many again, or raise AGENT_RECURSION_LIMIT."""

    code = "RECURSION_LIMIT"


class AttemptsExhausted(RunFailure):
    """This work was resumed too often without success. Send a new message to go on."""

    code = "ATTEMPTS_EXHAUSTED"


class AgentFailure(RunFailure):
    """The agent failed in a way nobody foresaw. The server's log has the trace; resume to try again."""

    code = "AGENT_FAILURE"


class StorageUnavailable(SophosError):
    """The database cannot be used. Check the disk and the permissions of DATABASE_PATH, then try again."""

    code = "STORAGE_UNAVAILABLE"


class RecordDamaged(StorageUnavailable):
    """The record of this conversation is damaged and cannot be read. Restore DATABASE_PATH from a copy, or delete the conversation."""


@contextmanager
def reading_record() -> Iterator[None]:
    """Turn what any library raises over bytes that are no record into RecordDamaged."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, NotImplementedError) as error:
        raise RecordDamaged from error


class StartupError(SophosError):
    """The server cannot start."""

    code = "STARTUP_FAILED"
