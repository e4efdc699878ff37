"""The scripted model as a lesson or a test holds it: a client of its routes under /_lab."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

import httpx

from lab.model.script import Turn

ANSWER_WITHIN: Final = 10.0  # seconds for what the server answers at once
WAIT_AT_MOST: Final = 30.0  # seconds for a fact


class Model:
    """Nothing is asked of the server before the first call."""

    def __init__(self, url: str) -> None:
        self.url = url
        # An environment's proxy has no business between a lesson and its own process.
        self._client = httpx.Client(base_url=url, timeout=ANSWER_WITHIN, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def script(self, turns: Sequence[Turn]) -> None:
        """Play these turns, in place of what is left of an earlier script.

        Raises ValueError with the turn and the step that cannot be played.
        """
        self._ask("POST", "/_lab/script", json={"turns": list(turns)})

    def requests(self) -> list[dict[str, Any]]:
        """Every request so far, oldest first, with its body and how its answer ended."""
        received: list[dict[str, Any]] = self._ask("GET", "/_lab/requests")["requests"]
        return received

    def wait_requests(
        self, at_least: int = 1, *, seconds: float = WAIT_AT_MOST
    ) -> list[dict[str, Any]]:
        """As `requests`, once there are so many; raises TimeoutError if there are not."""
        what_is_missing = f"There are not {at_least} requests"
        path = f"/_lab/requests?at_least={at_least}"
        received: list[dict[str, Any]] = self._wait(path, seconds, what_is_missing)["requests"]
        return received

    def forget_requests(self) -> None:
        """Forget them. Numbers go on from where they are."""
        self._ask("DELETE", "/_lab/requests")

    def wait_ended(self, number: int, *, seconds: float = WAIT_AT_MOST) -> dict[str, Any]:
        """Request `number`, once its answer has ended; raises TimeoutError if it does not."""
        path = f"/_lab/requests/{number}"
        return self._wait(path, seconds, f"The answer to request {number} has not ended")

    def pace(self, tokens_per_second: float | None) -> None:
        """0 is without delay; None is as the server was started. It holds from the next token on."""
        self._ask("POST", "/_lab/pace", json={"tokens_per_second": tokens_per_second})

    def hold(self, after_tokens: int) -> None:
        """Stop every reply at exactly this token; what an earlier `hold` stopped goes on."""
        self._ask("POST", "/_lab/hold", json={"after_tokens": after_tokens})

    def wait_held(self, replies: int = 1, *, seconds: float = WAIT_AT_MOST) -> None:
        """Wait until so many replies are held; raises TimeoutError if they are not."""
        what_is_missing = f"There are not {replies} replies held"
        self._wait(f"/_lab/held?at_least={replies}", seconds, what_is_missing)

    def release(self) -> None:
        """Let everything that is held go on."""
        self._ask("POST", "/_lab/release", json={})

    def _wait(self, path: str, seconds: float, what_is_missing: str) -> dict[str, Any]:
        try:
            return self._ask("GET", path, timeout=httpx.Timeout(ANSWER_WITHIN, read=seconds))
        except httpx.ReadTimeout as error:
            raise TimeoutError(f"{what_is_missing} within {seconds} s.") from error

    def _ask(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = self._client.request(method, path, **options)
        if answer.status_code == httpx.codes.BAD_REQUEST:
            raise ValueError(answer.json()["error"])
        answer.raise_for_status()
        body: dict[str, Any] = answer.json()
        return body
