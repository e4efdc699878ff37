"""What one crash did, judged from what it left: the record, the viewer's copy, the witness's rows.

Pure functions over plain values, so that each can be fed a planted wrong state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from lab.crash.scenarios import TRACKER, Scenario
from lab.stream import StreamEvent, told
from lab.witness import Effect, ReceivedCall
from sophos.failpoints import Point
from sophos.run import RunStatus

Messages = Sequence[Mapping[str, Any]]

# What no crash may do, wherever it comes, while every protection is on.
NEVER: Final = ("messages_lost", "messages_doubled", "told_twice", "calls_unanswered")
# Between a call's effect and its record nobody can know of the effect: such a call is made again.
OPEN_WINDOW: Final = Point.TOOL_RETURNED


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is left of one crash once nothing is left to resume.

    `status` and `resumable` are from right after the restart; all else is from the end. `shown` is
    what one viewer was shown of the runs, in their order: of all of them where the work was
    resumed; where a message came instead, of those since, as its sender began from the record.
    `requests` are the messages of each request the model had. `seconds` are from the death to the
    first that was shown of the run that went on, or to the record where there is none.
    """

    sent: Sequence[str]
    status: str
    resumable: bool
    messages: Messages
    shown: Sequence[StreamEvent]
    received: Sequence[ReceivedCall]
    effects: Sequence[Effect]
    requests: Sequence[Messages]
    resumes: int
    outcome: str
    seconds: float


def judged(evidence: Evidence) -> dict[str, Any]:
    """The columns of a matrix for one crash, those that differ from run to run included."""
    return {
        "status": evidence.status,
        "resumable": evidence.resumable,
        "messages_lost": messages_lost(evidence.sent, evidence.messages),
        "messages_doubled": messages_doubled(evidence.sent, evidence.messages),
        "tools_repeated": tools_repeated(evidence.received),
        "effects_per_call": effects_per_call(evidence.effects),
        "told_twice": told_twice(evidence.shown, evidence.messages),
        "calls_unanswered": calls_unanswered(evidence.requests),
        "resumes": evidence.resumes,
        "outcome": evidence.outcome,
        "seconds": round(evidence.seconds, 2),
    }


def breaks_a_promise(row: Mapping[str, Any], scenario: Scenario, point: str) -> bool:
    """Whether a crash at this point did what none may do while every protection is on.

    One call reaches its server again, and has a second effect if it has no key, at the one open
    window alone. After it all nothing is left to do, and right after the restart nothing runs.
    """
    again = 1 if point == OPEN_WINDOW else 0
    most = 2 if again and not scenario.keyed else 1
    return (
        any(row[name] for name in NEVER)
        or row["tools_repeated"] > again
        or row["effects_per_call"] > most
        or row["status"] == RunStatus.RUNNING
        or row["outcome"] != RunStatus.COMPLETED
    )


def messages_lost(sent: Sequence[str], messages: Messages) -> int:
    """How many accepted messages the record does not have."""
    return (Counter(sent) - _from_user(messages)).total()


def messages_doubled(sent: Sequence[str], messages: Messages) -> int:
    """How many user messages the record has beyond those that were accepted."""
    return (_from_user(messages) - Counter(sent)).total()


def tools_repeated(received: Iterable[ReceivedCall]) -> int:
    """How many calls reached their server again after they had reached it once."""
    times = Counter((call.tool, call.title) for call in received)
    return times.total() - len(times)


def effects_per_call(effects: Iterable[Effect]) -> int:
    """The most effects that any one call had; 0 if none had any."""
    return max(Counter((effect.tool, effect.title) for effect in effects).values(), default=0)


def effects_lost(effects: Iterable[Effect], messages: Messages) -> int:
    """How many calls the record has a good result of, though their effect never happened."""
    happened = {(f"{TRACKER}__{effect.tool}", effect.title) for effect in effects}
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    asked = {call["id"]: (call["name"], call["args"].get("title")) for call in calls}
    good = [message for message in messages if message.get("status") == "success"]
    return sum(asked.get(message["tool_call_id"]) not in happened for message in good)


def calls_unanswered(requests: Iterable[Messages]) -> int:
    """The most tool calls without an answer right behind them that any one request held."""
    return max((_unanswered(messages) for messages in requests), default=0)


def told_twice(shown: Iterable[StreamEvent], messages: Messages) -> int:
    """How many messages on a viewer's screen the record has not, or has with less text.

    What a resumed run superseded is no longer on the screen and does not count.
    """
    record = {
        (message["id"], kind): message.get(name) or ""
        for message in messages
        for kind, name in (("answer", "content"), ("reasoning", "reasoning"))
    }
    screen: dict[tuple[str, str], str] = {}
    for piece in told(shown):
        place = piece["message_id"], piece["kind"]
        screen[place] = screen.get(place, "") + piece["text"]
    # It may show less than the record: what was on its way when the connection was lost.
    return len(
        {
            message
            for (message, kind), text in screen.items()
            if not record.get((message, kind), "").startswith(text)
        }
    )


def _unanswered(messages: Messages) -> int:
    missing = 0
    for number, message in enumerate(messages, 1):
        calls = len(message.get("tool_calls") or ())
        behind = takewhile(lambda later: later["role"] == "tool", messages[number:])
        missing += max(0, calls - len(list(behind)))
    return missing


def _from_user(messages: Messages) -> Counter[str]:
    return Counter(message["content"] for message in messages if message["role"] == "user")
