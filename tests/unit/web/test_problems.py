"""One table from errors to statuses, checked against the wire contract."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from sophos import errors
from sophos.errors import RunFailure, SophosError, StartupError
from sophos.web.problems import STATUS, problem, status_of

CONTRACT = {
    400: {"BAD_REQUEST"},
    401: {"UNAUTHORISED"},
    403: {"FORBIDDEN_ORIGIN", "FORBIDDEN_HOST"},
    404: {"NOT_FOUND"},
    405: {"METHOD_NOT_ALLOWED"},
    409: {
        *("SESSION_IN_PROGRESS", "RUN_WAITING", "RUN_NOT_RESUMABLE", "RUN_NOT_ACTIVE"),
        "DECISION_NOT_PENDING",
    },
    413: {"MESSAGE_TOO_LARGE"},
    429: {"TOO_MANY_GUESSES"},
    415: {"UNSUPPORTED_MEDIA_TYPE"},
    422: {"IDEMPOTENCY_KEY_REUSED"},
    503: {"STORAGE_UNAVAILABLE", "SHUTTING_DOWN", "STARTUP_FAILED"},
}


def below(cls: type[SophosError]) -> Iterator[type[SophosError]]:
    yield cls
    for child in cls.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from below(child)


def test_every_error_of_a_request_has_the_status_of_the_contract() -> None:
    found: dict[int, set[str]] = {}
    for cls in below(SophosError):
        if cls not in (SophosError, errors.RequestError) and not issubclass(cls, RunFailure):
            found.setdefault(int(status_of(cls)), set()).add(cls.code)
    assert found == CONTRACT


def test_every_error_of_a_request_stands_in_the_table_itself() -> None:
    families = (RunFailure,)
    missing = {
        cls for cls in below(SophosError) if cls not in STATUS and not issubclass(cls, families)
    }
    assert missing == set()


@pytest.mark.parametrize("cls", list(below(SophosError)))
def test_an_error_is_told_with_its_code_its_remedy_and_its_ids(cls: type[SophosError]) -> None:
    answer = problem(cls(conversation="c", run="r"))
    told = json.loads(bytes(answer.body))["error"]
    assert told == {"code": cls.code, "message": cls().message, "conversation": "c", "run": "r"}
    assert ("retry-after" in answer.headers) == (answer.status_code in {429, 503})


def test_an_error_without_ids_names_none() -> None:
    assert set(json.loads(bytes(problem(StartupError("no")).body))["error"]) == {"code", "message"}
