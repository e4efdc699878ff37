"""Conversations side by side on a real bench: what is recorded, and what is left."""

from pathlib import Path

from lab.bench import Bench
from lab.model.script import fail, say
from lab.outlook import outlook


def test_a_failed_run_has_its_code_and_its_work_and_a_finished_one_neither(tmp_path: Path) -> None:
    with Bench("outlook", tools=(), root=tmp_path) as bench:
        bench.model.script([[say("Done.")], fail(503, "overloaded")])
        conversations = {}
        for what in ("it works", "it fails"):
            started = bench.client.start("Go on")
            bench.client.wait(started.run)
            conversations[what] = started.conversation
        frame = outlook(bench, conversations)
    assert frame.to_dict("records") == [
        {"what": "it works", "status": "completed", "code": "", "next": "", "resumable": False},
        {"what": "it fails", "status": "failed", "code": "MODEL_FAILED", "next": "agent"}
        | {"resumable": True},
    ]
    assert outlook(bench, {}).empty
