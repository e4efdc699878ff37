"""A tool server of the standard library alone: it starts in milliseconds and misbehaves when told to.

    python small.py JOURNAL [MANNER …]

JOURNAL gets one JSON line per fact, flushed: started, called, done, cancelled. A call is told what
to do by its argument `then`; a manner holds for the whole process. `JOURNAL.go` lets go of every
call that was told to wait.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

JOURNAL = Path(sys.argv[1])
MANNERS = set(sys.argv[2:])
LOCK = threading.Lock()
CALLS: dict[Any, str] = {}
EXTRA: list[dict[str, Any]] = []


def note(**fact: Any) -> None:
    with LOCK, JOURNAL.open("a", encoding="utf-8") as journal:
        journal.write(json.dumps({"pid": os.getpid(), **fact}) + "\n")
        journal.flush()


def others() -> list[int]:
    """Processes with the same journal that are still there."""
    found = set()
    for line in JOURNAL.read_text(encoding="utf-8").splitlines() if JOURNAL.exists() else []:
        with suppress(ProcessLookupError):
            os.kill(json.loads(line)["pid"], 0)
            found.add(json.loads(line)["pid"])
    return sorted(found)


def send(message: dict[str, Any]) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def tool(name: str, properties: tuple[str, ...] = (), **annotations: bool) -> dict[str, Any]:
    strings = {key: {"type": "string"} for key in ("then", "text", *properties)}
    schema = {"type": "object", "properties": strings, "required": list(properties)}
    return {"name": name, "inputSchema": schema, "annotations": annotations}


TOOLS = [
    tool("look", readOnlyHint=True),
    tool("add"),
    tool("set", idempotentHint=True),
    tool("wipe", destructiveHint=True),
    tool("once", ("idempotency_key",)),
]


def tools(cursor: str | None) -> dict[str, Any]:
    listed = TOOLS + EXTRA
    if "twice" in MANNERS:
        listed = [*listed, {**tool("add"), "description": "the second"}, {"name": "broken"}]
    if "endless" in MANNERS:
        return {"tools": [], "nextCursor": "again"}
    if "pages" in MANNERS:
        at = int(cursor or 0)
        more = {"nextCursor": str(at + 1)} if at + 1 < len(listed) else {}
        return {"tools": listed[at : at + 1], **more}
    return {"tools": listed}


def outcome(  # noqa: C901, PLR0912 - one case per misbehaviour
    name: str, then: str, args: dict[str, Any]
) -> dict[str, Any] | None:
    """The result, or None for no answer at all."""
    match then:
        case "die":
            os._exit(3)
        case "die once":
            if not JOURNAL.with_suffix(".died").exists():
                JOURNAL.with_suffix(".died").touch()
                os._exit(3)
        case "hang":
            return None
        case "wait":
            while not JOURNAL.with_suffix(".go").exists():
                time.sleep(0.005)
        case "go mute":
            os.close(sys.stdout.fileno())
            return None
        case "print":
            with LOCK:
                sys.stdout.buffer.write(b"hello\n\xff\xfe{}\n[1]\n")
                sys.stdout.flush()
        case "fail":
            return {"isError": True, "content": [{"type": "text", "text": "it failed"}]}
        case "half":
            return {"content": [{"type": "text", "text": "half \ud83d of one"}]}
        case "deep":
            deep: list[Any] = []
            for _ in range(200):
                deep = [deep]
            return {"content": [], "structuredContent": {"deep": deep}}
        case "raw":
            return json.loads(args["text"])  # type: ignore[no-any-return]
        case "grow":
            EXTRA.append(tool("grown"))
            send({"method": "notifications/tools/list_changed"})
        case "env":
            return {"content": [{"type": "text", "text": json.dumps(dict(os.environ))}]}
    return {"content": [{"type": "text", "text": json.dumps([name, args])}]}


def call(number: Any, params: dict[str, Any]) -> None:
    name, args = params["name"], params.get("arguments") or {}
    note(called=name, args=args)
    if args.get("then") == "refuse":
        send({"id": number, "error": {"code": -32000, "message": "not like this"}})
        return
    note(done=name, key=args.get("idempotency_key"))
    result = outcome(name, args.get("then", ""), args)
    if result is not None:
        send({"id": number, "result": result})


def answer(message: dict[str, Any]) -> None:
    number, params = message.get("id"), message.get("params") or {}
    match message["method"]:
        case "initialize":
            if "silent" in MANNERS:
                return
            version = "1999-01-01" if "ancient" in MANNERS else params["protocolVersion"]
            info = {"name": "small", "version": "1"}
            result: dict[str, Any] = {
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            send({"id": number, "result": result})
        case "tools/list":
            send({"id": number, "result": tools(params.get("cursor"))})
        case "tools/call":
            CALLS[number] = params["name"]
            threading.Thread(target=call, args=(number, params), daemon=True).start()
        case "notifications/cancelled":
            note(cancelled=CALLS.get(params["requestId"]))


def main() -> None:
    if "stubborn" in MANNERS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    grandchild = None
    if "launcher" in MANNERS:
        stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
        grandchild = subprocess.Popen([sys.executable, "-ISc", stubborn]).pid
    note(started=sorted(MANNERS), grandchild=grandchild, beside=others())
    sys.stderr.write("x" * (1_000_000 if "chatty" in MANNERS else 1))
    sys.stderr.write("\nthese are my last words\n")
    if "fails" in MANNERS:
        sys.exit(4)
    if "loud" in MANNERS:
        sys.stdout.write("Welcome!\n")
    for line in sys.stdin:
        answer(json.loads(line))
    time.sleep(0.5 if "slow to end" in MANNERS else 0)
    while "stubborn" in MANNERS:
        time.sleep(60)


if __name__ == "__main__":
    main()
