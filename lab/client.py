"""Sophos over HTTP, as any outsider sees it: plain requests, and one event stream.

It keeps every event it was shown: once a run has ended, its viewers' copies are the only ones
there are. They die with the client.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx

from lab.stream import EventStream, StreamEvent, Text, text

SILENCE: Final = 60.0  # seconds without a byte; a healthy stream pings every 15
WAIT_LIMIT: Final = 120.0  # seconds for a run that is waited for


class ApiError(Exception):
    """The server refused, or did not answer at all (code NO_ANSWER, status 0)."""

    def __init__(self, code: str, message: str, status: int) -> None:
        self.code, self.message, self.status = code, message, status
        super().__init__(f"{code} ({status}): {message}" if status else f"{code}: {message}")


@dataclass(frozen=True, kw_only=True)
class Started:
    """The answer to a request that starts a run: two ids, in milliseconds, and the run goes on."""

    conversation: str
    run: str


class Client:
    """One server, wherever it is now: `url` may be a function, asked before each request."""

    def __init__(self, url: str | Callable[[], str], *, token: str | None = None) -> None:
        self._shown: dict[str, dict[str, StreamEvent]] = {}  # by run, then by the event's id
        self._url = url
        # Each request has a connection of its own, since the server is killed between two; and
        # nothing in the environment sends a request for this machine to a proxy.
        self._http = httpx.Client(
            timeout=SILENCE,
            limits=httpx.Limits(max_keepalive_connections=0),
            headers={"Authorization": f"Bearer {token}"} if token else {},
            trust_env=False,
            verify=False,  # noqa: S501 - loopback over plain HTTP: the certificates cost a start
        )
        weakref.finalize(self, self._http.close)

    def start(
        self, message: str, conversation: str | None = None, key: str | None = None
    ) -> Started:
        """Send a message. With a `key`, sending it twice starts one run."""
        body = {"message": message} | ({"conversation": conversation} if conversation else {})
        return self._start("/api/chat", body, key)

    def resume(self, conversation: str, key: str | None = None) -> Started:
        return self._start("/api/chat", {"resume": True, "conversation": conversation}, key)

    def decide(self, run: str, tool_call: str, decision: str, comment: str = "") -> Started:
        """`decision` is approve or reject; the answer names the run that carries it out."""
        body = {"tool_call_id": tool_call, "decision": decision}
        body |= {"comment": comment} if comment else {}
        return self._start(f"/api/runs/{run}/decision", body, None)

    def cancel(self, run: str) -> None:
        self._send("POST", f"/api/runs/{run}/cancel", json={})

    def stream(
        self,
        conversation: str,
        run: str | None = None,
        last_event_id: str | None = None,
        silence: float = SILENCE,
    ) -> EventStream:
        """Watch a run: what it said so far, or after `last_event_id`, then what it says live.

        A connection on which nothing comes for `silence` seconds is given up.
        """
        parameters = {"conversation": conversation} | ({"run": run} if run else {})

        def connect(last_id: str | None) -> httpx.Response:
            headers = {"Accept": "text/event-stream"}
            headers |= {"Last-Event-ID": last_id} if last_id is not None else {}
            return self._send(
                "GET", "/api/chat", params=parameters, headers=headers, timeout=silence, stream=True
            )

        return EventStream(connect, last_event_id, self._remember)

    def read(self, conversation: str, *, html: bool = False) -> dict[str, Any]:
        """The conversation as its record says now: messages, resumable, active_run.

        With `html` each message also has what the page shows of it.
        """
        parameters = {"render": "html"} if html else {}
        return self._read(f"/api/conversations/{conversation}", **parameters)

    def conversations(self) -> list[dict[str, Any]]:
        """Newest first, all of them."""
        rows, page = [], self._read("/api/conversations")
        rows += page["conversations"]
        while page["next"]:
            page = self._read("/api/conversations", before=page["next"])
            rows += page["conversations"]
        return rows

    def runs(self, conversation: str) -> list[dict[str, Any]]:
        """Every attempt, oldest first."""
        return list(self._read(f"/api/conversations/{conversation}/runs")["runs"])

    def run(self, run: str) -> dict[str, Any]:
        return self._read(f"/api/runs/{run}")

    def wait(self, run: str, seconds: float = WAIT_LIMIT) -> dict[str, Any]:
        """Follow the run's stream to its end, then read the run: what is on record."""
        end = time.monotonic() + seconds
        while (record := self.run(run))["status"] == "running":
            silence = min(seconds, SILENCE)
            with self.stream(record["conversation"], run=run, silence=silence) as stream:
                while time.monotonic() < end and next(stream.received(), None):
                    pass
            if time.monotonic() > end:
                raise ApiError("NO_ANSWER", f"The run still works after {seconds:g} s.", 0)
        return record

    def shown(self, run: str) -> list[StreamEvent]:
        """What this client saw of a run, each event once, however often it came back."""
        return list(self._shown.get(run, {}).values())

    def text(self, run: str) -> Text:
        """What this client saw of a run, as a reader reads it."""
        return text(self.shown(run))

    def checkpoints(self, conversation: str) -> list[dict[str, Any]]:
        """Every checkpoint of the thread, oldest first."""
        return list(self._read(f"/api/conversations/{conversation}/checkpoints")["checkpoints"])

    def fork(self, conversation: str, checkpoint: str) -> dict[str, Any]:
        """A new conversation whose thread starts with that checkpoint's state."""
        body = {"checkpoint_id": checkpoint}
        return self._json("POST", f"/api/conversations/{conversation}/fork", json=body)

    def delete(self, conversation: str) -> None:
        self._send("DELETE", f"/api/conversations/{conversation}")

    def export(self, conversation: str, format: str = "markdown") -> str:  # noqa: A002 - as in the URL
        """The transcript as Markdown, or with "jsonl" one line per checkpoint."""
        parameters = {} if format == "markdown" else {"format": format}
        path = f"/api/conversations/{conversation}/export"
        return self._send("GET", path, params=parameters).text

    def health(self) -> dict[str, Any]:
        return self._read("/api/healthz")

    def ready(self) -> dict[str, Any]:
        """`status` and `checks`, whether it is ready or not."""
        answer = self._send("GET", "/api/readyz", accept=httpx.codes.SERVICE_UNAVAILABLE)
        return dict(answer.json())

    def _start(self, path: str, body: dict[str, Any], key: str | None) -> Started:
        headers = {"Idempotency-Key": key} if key else {}
        answer = self._json("POST", path, json=body, headers=headers)
        return Started(conversation=answer["conversation"], run=answer["run"])

    def _read(self, path: str, **parameters: str) -> dict[str, Any]:
        return self._json("GET", path, params=parameters)

    def _json(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        return dict(self._send(method, path, **options).json())

    def _send(
        self, method: str, path: str, *, stream: bool = False, accept: int = 200, **options: Any
    ) -> httpx.Response:
        url = (self._url if isinstance(self._url, str) else self._url()) + path
        try:
            request = self._http.build_request(method, url, **options)
            response = self._http.send(request, stream=stream)
            if not response.is_success and response.status_code != accept:
                response.read()
                raise _refusal(response)
        except httpx.HTTPError as error:
            raise ApiError("NO_ANSWER", f"{method} {path}: {error!r}", 0) from error
        return response

    def _remember(self, event: StreamEvent) -> None:
        run = event.data.get("run") or (event.id or "").rpartition(":")[0]
        if run:
            self._shown.setdefault(run, {}).setdefault(event.id or event.name, event)


def _refusal(response: httpx.Response) -> ApiError:
    try:
        error = response.json()["error"]
        return ApiError(error["code"], error["message"], response.status_code)
    except (ValueError, KeyError, TypeError):
        return ApiError("NOT_SOPHOS", response.text[:200], response.status_code)
