"""The twins of a view say the same, stand for themselves, and run nothing that they were given."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import pandas as pd
import pytest

from lab.views.flows import AWAY, HERE, UNDECIDED, configured, is_here
from lab.views.lanes import Bar, Cut, Tick, draw, words
from lab.views.stream_record import _changes, _diff_html
from lab.views.view import View, plain, table

NAMES: dict[int | None, str] = {11434: "model#1"}


def test_a_view_shows_its_text_and_its_page_and_keeps_its_data() -> None:
    frame = pd.DataFrame({"a": ["x", "<b>"], "long": [1, 22]})
    view = View(data=frame, text=plain(frame), html=table(frame, "Both"))
    assert repr(view) == "a    long\nx    1\n<b>  22"
    assert view._repr_mimebundle_() == {"text/plain": view.text, "text/html": view.html}
    assert "&lt;b&gt;" in view.html
    assert plain(frame[:0]) == "(nothing)"


def test_a_drawing_is_an_image_with_title_description_and_its_words() -> None:
    bar = Bar(lane="run", row="runs", text="run 1: <cut>", start=0, end=100, cut=True)
    svg = draw(
        "Title", "What it shows.", [bar], [Cut(at=50, text="killed")], [Tick(at=0, text="1")]
    )
    root = ET.fromstring(svg)
    image = root[0]
    assert image.get("role") == "img"
    assert [child.text for child in image[:2]] == ["Title", "What it shows."]
    assert {"runs", "run 1: <cut>", "✗ killed", "1"} <= set(image.itertext())


def drawn(*bars: Bar, cuts: Sequence[Cut] = (), ticks: Sequence[Tick] = ()) -> list[str]:
    """The words that are to be read in a drawing, without titles and description."""
    image = ET.fromstring(draw("Title", "", bars, cuts, ticks))[0]
    return [text.text or "" for text in image.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(
    ("pixels", "read"),
    [(120, "step 3 not saved"), (90, "3 not saved"), (60, "3 not s…"), (20, None)],
)
def test_a_bar_is_read_in_the_words_it_has_room_for(pixels: int, read: str | None) -> None:
    bar = Bar(
        lane="step", row="steps", text="step 3 not saved", short="3 not saved", start=0, end=pixels
    )
    assert drawn(bar) == ["steps", *([read] if read else [])]


def test_no_words_of_a_cut_are_over_another_s_or_over_the_edge() -> None:
    bar = Bar(lane="run", row="runs", text="run 1", start=0, end=300)
    cuts = [Cut(at=at, text="server#1 is killed") for at in (0, 30, 300)]
    image = ET.fromstring(draw("Title", "", [bar], cuts, []))[0]
    width = float(image.attrib["viewBox"].split()[2])
    told = [at.attrib for at in image.iter() if (at.text or "").startswith("✗")]
    assert len({at["y"] for at in told[:2]}) == 2
    assert all(0 <= float(at["x"]) <= width - words("✗ server#1 is killed") for at in told)


def test_numbers_on_the_axis_that_would_touch_are_left_out() -> None:
    bar = Bar(lane="run", row="runs", text="run 1", start=0, end=300)
    ticks = [Tick(at=at, text=str(at)) for at in (0, 8, 16, 40)]
    assert drawn(bar, ticks=ticks)[2:] == ["0", "16", "40"]


def test_a_drawing_of_nothing_is_a_drawing() -> None:
    assert 'role="img"' in draw("Title", "Nothing.", [], [], [])


def test_a_diff_says_what_only_the_stream_and_only_the_record_has() -> None:
    changes = _changes("The sun is <hot>.", "The sun is big.")
    assert changes == [("equal", "The sun is"), ("delete", " <hot>."), ("insert", " big.")]
    html = _diff_html("a <hot>", "a big")
    assert "− " in html
    assert "&lt;hot&gt;</del>" in html
    assert "big</ins>" in html


def flows(environment: dict[str, str], servers: dict[str, object]) -> list[tuple[str, str]]:
    rows = configured(environment, {"mcpServers": servers}, NAMES)
    return [(row["to"], row["where"]) for row in rows]


def test_a_model_on_this_machine_is_named_and_a_remote_one_leaves_it() -> None:
    assert flows({"OLLAMA_HOST": "http://127.0.0.1:11434"}, {}) == [("OLLAMA_HOST → model#1", HERE)]
    assert flows({"OLLAMA_HOST": "gpu.example.org"}, {}) == [
        ("OLLAMA_HOST → gpu.example.org", AWAY)
    ]


def test_proxies_and_tracing_are_destinations_too() -> None:
    assert flows({"https_proxy": "http://proxy.example.org:3128"}, {}) == [
        ("HTTPS_PROXY → proxy.example.org", AWAY)
    ]
    asked = {"LANGSMITH_TRACING": "true"}
    assert flows(asked, {}) == []  # withheld
    assert flows(asked | {"SOPHOS_TRACING": "true"}, {})[0][1] == AWAY
    here = {"LANGSMITH_ENDPOINT": "http://127.0.0.1:11434"}
    assert flows(asked | here | {"SOPHOS_TRACING": "true"}, {})[0][1] == HERE


def test_a_tool_server_is_a_child_here_or_an_address_elsewhere() -> None:
    servers: dict[str, object] = {
        "memory": {"command": "node"},
        "fetch": {"command": "python"},
        "far": {"url": "https://mcp.example.org/mcp"},
    }
    assert flows({}, servers) == [
        ("mcp far → mcp.example.org", AWAY),
        ("mcp fetch (child process)", UNDECIDED),
        ("mcp memory (child process)", HERE),
    ]


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_only_this_machines_own_names_stay_here(host: str, here: bool) -> None:
    assert is_here(host) is here
