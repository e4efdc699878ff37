"""The buttons of the live watch, clicked on a real run: Stop, Kill, Resume."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.bench import Bench
from lab.facts import until
from lab.model.script import say
from lab.views.watch import Watch, watch

LONG = "one two three four five six"
HELD = 3  # tokens that are sent before the model waits


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench("watch", tools=("tasks",), root=tmp_path) as bench:
        bench.model.script([[say(LONG)], [say("The second answer.")]])
        bench.model.hold(HELD)
        yield bench


def speaking(bench: Bench) -> Watch:
    """A watch of a run that stands in the middle of its answer."""
    seen = watch(bench, bench.client.start("Speak").run)
    bench.model.wait_held()
    until(lambda: "one two three" in shown(seen), what="the first words in the widget")
    return seen


def shown(seen: Watch) -> str:
    return "".join(str(child.value) for child in seen.widget.children[1:])


def test_stop_cancels_the_run_and_the_words_stay_in_sight(bench: Bench) -> None:
    seen = speaking(bench)
    seen.stop.click()
    seen.join(30)
    assert "cancelled" in seen.status.value
    assert list(bench.tables.runs()["status"]) == ["cancelled"]
    assert "one two three" in shown(seen)


def test_kill_ends_the_server_and_says_that_the_connection_is_lost(bench: Bench) -> None:
    seen = speaking(bench)
    seen.kill.click()
    seen.join(30)
    assert bench.sophos.state == "ended"
    assert bench.sophos.process.exit_status == -9
    assert "connection is lost" in seen.status.value
    assert list(bench.tables.runs()["status"]) == ["running"]


def test_resume_starts_the_dead_server_and_shows_the_new_run(bench: Bench) -> None:
    seen = speaking(bench)
    seen.kill.click()
    seen.join(30)
    bench.model.release()
    seen.resume.click()
    seen.join(30)
    assert "completed" in seen.status.value
    assert "The second answer." in shown(seen)
    assert list(bench.tables.runs()["status"]) == ["interrupted", "completed"]


def test_a_button_that_is_refused_says_why_and_the_widget_goes_on(bench: Bench) -> None:
    bench.model.release()
    seen = watch(bench, bench.client.start("Speak").run)
    seen.join(30)
    seen.resume.click()
    assert "RUN_NOT_RESUMABLE" in seen.status.value
    seen.kill.click()
    seen.stop.click()
    assert "not running" in seen.status.value
