"""Frames as they came over a real connection, with short names and nothing else changed."""

from collections.abc import Iterator

import pytest

from lab.bench import Bench
from lab.wire import wire


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench("wire", root=tmp_path_factory.mktemp("lab"), tools=()) as bench:
        yield bench


def test_a_live_stream_is_read_frame_by_frame_and_then_left(bench: Bench) -> None:
    bench.model.hold(5)
    run = bench.client.start("Count to 9.")
    bench.model.wait_held()
    raw = wire(bench, run.conversation, last_event_id=f"{run.run}:1", most=2)
    bench.model.release()
    bench.client.wait(run.run)
    assert raw.status == 200
    assert [frame.split("\n")[-1] for frame in raw.frames] == [f"id: {run.run}:{n}" for n in (2, 3)]
    assert repr(raw).startswith("200 OK\ncontent-type: text/event-stream")
    assert "\nid: run 1:2\n\nevent: token\n" in repr(raw)


def test_after_the_end_there_is_one_frame_and_for_who_had_it_no_content(bench: Bench) -> None:
    bench.model.hold(5)
    run = bench.client.start("Count to 3.")
    with bench.client.stream(run.conversation) as stream:
        bench.model.release()
        last = list(stream)[-1].id
    late = wire(bench, run.conversation)
    assert [frame.split("\n")[0] for frame in late.frames] == ["event: end"]
    assert "id: " not in repr(late)
    nothing = wire(bench, run.conversation, last_event_id=last)
    assert (nothing.status, nothing.frames) == (204, ())
    assert repr(nothing) == "204 No Content"
