"""What the model server, and the libraries on the way to it, raise: as our errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import httpx
from langchain_core.exceptions import OutputParserException
from ollama import ResponseError
from pydantic import ValidationError

from sophos.errors import ModelFailed, ModelUnavailable, ModelUnreachable

QUOTED: Final = 500  # characters of what the server said; a proxy says whole pages


@contextmanager
def model_errors(host: str, *, begun: Callable[[], bool]) -> Iterator[None]:
    """`begun` tells whether a part of the reply had come: a stream that breaks off is no refusal."""
    try:
        yield
    except TimeoutError as error:
        raise ModelUnreachable(
            "The model server stopped answering. See what it is doing, then resume."
        ) from error
    except (httpx.TransportError, ConnectionError) as error:
        if begun():
            raise ModelFailed(
                "The model server broke off in the middle of its reply. Resume to ask again."
            ) from error
        raise ModelUnreachable(
            f"The model server at {host} does not answer."
            " Start it, or correct OLLAMA_HOST, then resume."
        ) from error
    except ResponseError as error:
        said = error.error[:QUOTED]
        # Ollama tells these two apart by status and words only.
        if error.status_code == 404 or "does not support" in error.error:
            raise ModelUnavailable(
                f"The model server says: {said}."
                " Pull the model, or correct OLLAMA_MODEL, then resume."
            ) from error
        raise ModelFailed(f"The model server says: {said}. Resume to ask again.") from error
    except (json.JSONDecodeError, ValidationError, OutputParserException) as error:
        raise ModelFailed(
            "The model server sent something that is not a reply. Resume to ask again."
        ) from error
