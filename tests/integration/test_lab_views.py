"""The views on a bench whose server was killed in the middle of an answer, and resumed."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lab.bench import Bench
from lab.check import Outcome
from lab.client import Started
from lab.model.script import call, say, think
from lab.promises import calls_not_repeated, effects_once, messages_kept, stream_whole
from lab.survival import look
from lab.views.flows import data_flows
from lab.views.lanes import WIDE
from lab.views.processes import process_tree
from lab.views.stream_record import stream_vs_record
from lab.views.time_travel import time_travel
from lab.views.timeline import timeline
from lab.views.watch import watch

SVG = "{http://www.w3.org/2000/svg}"
CUT = "The answer is a rather long sentence"

TIMELINE = """\
Timeline of conversation 1
   1  run      run 1 starts (message)
   2  step     step -1 is saved
   3  step     step 0 is saved
      stream   step 1: reasoning
   4  step     step 1 is saved
      effects  GET /robots.txt
      effects  GET /article
   5  step     step 2 is saved
      steps    step 3 not saved
      stream   step 3: answer
   6  process  server#1 is killed ════════════════════════
   7  process  server#2 starts
   8  run      run 2 starts (resume of run 1)
      stream   step 3: answer
   9  step     step 3 is saved
  10  run      run 2 is completed"""

STREAM = """\
Stream against record of run 1
  pieces  kept: 0, reasoning: 4, superseded: 7, never durable: 0
  step  kind       fate        pieces  text
  1     reasoning  reasoning   4       I need the page.
  3     answer     superseded  7       The answer is a rather long sentence
    both    The answer is
- stream  a rather long sentence
+ record  short."""

TREE = """\
notebook
├─ model#1: running
├─ server#2: running
│  ├─ mcp fetch: running
│  │  └─ keeper: running
│  └─ mcp memory: running
│     └─ keeper: running
└─ site#1: running"""

FLOWS = """\
Data flows
  flow        process   to                          where
  configured  server    OLLAMA_HOST → model#1       this machine
  configured  server    mcp fetch (child process)   what the tool is asked for
  configured  server    mcp memory (child process)  this machine
  listening   model#1   anyone on this machine      this machine"""


@dataclass(frozen=True, kw_only=True)
class Crashed:
    bench: Bench
    conversation: str
    runs: tuple[str, str]


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crashed]:
    with Bench("views", root=tmp_path_factory.mktemp("lab")) as bench:
        fetch: Any = call("fetch__fetch", url=f"{bench.site.url}/article")
        turns: Any = [[think("I need the page."), fetch], [say(f"{CUT} about it.")]]
        bench.model.script([*turns, [say("The answer is short.")]])
        bench.model.hold(7)
        first = bench.client.start("Read the article")
        with bench.client.stream(first.conversation, first.run) as stream:
            while bench.client.text(first.run).answer != CUT:
                next(iter(stream))
        bench.sophos.kill()
        bench.model.release()
        bench.sophos.start()
        second = bench.client.resume(first.conversation)
        bench.client.wait(second.run)
        yield Crashed(bench=bench, conversation=first.conversation, runs=(first.run, second.run))


def test_the_timeline_has_every_lane_on_one_clock_and_the_crash_across(crashed: Crashed) -> None:
    view = timeline(crashed.bench, crashed.conversation)
    assert view.text == TIMELINE
    assert "✗ server#1 is killed" in view.html
    cut = view.data[view.data["cut"]]
    assert list(cut["what"]) == [
        "server#1: killed",
        "run 1: interrupted",
        "step 3 not saved",
        "step 3: answer",
    ]
    assert set(cut["to"]) == {6}


def test_the_figure_fits_and_tells_in_words_what_the_table_and_the_text_tell(
    crashed: Crashed,
) -> None:
    view = timeline(crashed.bench, crashed.conversation)
    [image] = ET.fromstring(view.html)
    _, _, width, _ = map(float, image.attrib["viewBox"].split())
    bars = [(bar[0].text, bar[1].attrib) for bar in image.iter(f"{SVG}g")]
    assert width <= WIDE
    assert all(float(at["x"]) + float(at["width"]) <= width for _, at in bars)
    assert sorted(text or "" for text, _ in bars) == sorted(view.data["what"])
    described = (image.findtext(f"{SVG}desc") or "").removeprefix("In this order: ")
    moments = re.findall(r"^ +\d+  \w+ +(.+?)(?: ═+)?$", view.text, re.MULTILINE)
    assert described.removesuffix(".").split("; ") == moments


def test_drawn_again_it_is_the_same_and_to_scale_it_has_seconds(crashed: Crashed) -> None:
    views = [timeline(crashed.bench, "conversation 1") for _ in range(2)]
    assert views[0].html == views[1].html
    raw = timeline(crashed.bench, crashed.conversation, raw=True)
    assert (raw.data["ended"] >= raw.data["began"]).all()
    assert " s</text>" in raw.html


def test_every_streamed_piece_is_marked_with_what_became_of_it(crashed: Crashed) -> None:
    view = stream_vs_record(crashed.bench, "run 1")
    assert [line.strip() for line in view.text.splitlines()] == [
        line.strip() for line in STREAM.splitlines()
    ]
    again = stream_vs_record(crashed.bench, crashed.runs[1]).data
    assert list(again["fate"]) == ["kept"]


def test_time_travel_shows_the_messages_at_each_checkpoint(crashed: Crashed) -> None:
    view = time_travel(crashed.bench, crashed.conversation)
    assert list(view.data["messages"]) == [0, 1, 2, 3, 4]
    assert view.states[-1][0] == "user: Read the article"
    assert view.states[-1][-1] == "assistant: The answer is short."
    slider, page = view.widget.children
    slider.value = 1
    assert "Read the article" in page.value
    assert "The answer is short." not in page.value
    assert view._repr_mimebundle_()["text/plain"] == view.text
    assert "127.0.0.1" not in view.text + repr(view.states)


def test_the_processes_are_a_tree(crashed: Crashed) -> None:
    assert process_tree(crashed.bench).text == TREE
    assert "pid" in process_tree(crashed.bench, raw=True).text


def test_the_flows_name_roles_and_ports_only_on_request(crashed: Crashed) -> None:
    view = data_flows(crashed.bench)
    assert view.text.startswith(FLOWS)
    assert "127.0.0.1" not in view.text
    assert "127.0.0.1" in data_flows(crashed.bench, raw=True).text


def test_watching_does_not_wait_and_ends_with_the_run(crashed: Crashed) -> None:
    seen = watch(crashed.bench, "run 2")
    seen.join(30)
    assert "completed" in seen.status.value
    assert seen.text.startswith("Watching run 2")


def test_the_promises_hold_on_the_real_evidence(crashed: Crashed) -> None:
    client = crashed.bench.client
    shown = {f"run {n}": client.shown(run) for n, run in enumerate(crashed.runs, 1)}
    visits = crashed.bench.tables.visits()
    verdicts = [
        messages_kept(["Read the article"], client.read(crashed.conversation)["messages"]),
        effects_once(visits[visits["path"] != "/robots.txt"], by="path"),
        calls_not_repeated(shown),
        stream_whole(shown["run 2"]),
    ]
    assert all(verdict.holds for verdict in verdicts), verdicts
    assert stream_whole(shown["run 1"]).outcome is Outcome.UNKNOWN


def test_a_look_at_a_finished_run_finds_what_was_kept_and_what_was_made_again(
    crashed: Crashed,
) -> None:
    dead = Started(conversation=crashed.conversation, run=crashed.runs[0])
    with crashed.bench.client.stream(dead.conversation, dead.run) as stream:
        list(stream)
    found = look(crashed.bench, dead, stream)
    assert list(found.loc[~found["there"], "piece"]) == [
        "the fact it had saved",  # there was none
        "the answer's pieces so far",
        "the task that drives the run",
        "your connection",
    ]
