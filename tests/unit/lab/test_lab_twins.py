"""The twins of a view say the same, stand for themselves, and run nothing that they were given."""

import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from lab.views.flows import AWAY, HERE, UNDECIDED, configured, is_here
from lab.views.lanes import Bar, Cut, Tick, draw
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
