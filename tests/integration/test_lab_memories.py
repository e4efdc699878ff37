"""Where a word is remembered, on a bench where it was said, saved and looked up."""

from collections.abc import Iterator

import pandas as pd
import pytest

from lab.bench import Bench
from lab.check import Outcome
from lab.memories import forgotten, memories

WORD = "heliotrope"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    root = tmp_path_factory.mktemp("lab")
    with Bench("05", root=root, tools=("memory",)) as bench:
        said = bench.client.start(f"Remember that my favourite flower is the {WORD}.")
        bench.client.wait(said.run)
        asked = bench.client.start("What is my favourite flower?")
        bench.client.wait(asked.run)
        yield bench


def held(bench: Bench, word: str) -> dict[str, str]:
    found = memories(bench, word)
    return dict(zip(found["memory"], found["holds_it"], strict=True))


def test_each_memory_says_where_it_holds_the_word(bench: Bench) -> None:
    assert held(bench, WORD) == {
        "weights": "",
        "context": "tool",
        "threads": "conversation 1, conversation 2",
        "list": "input of run 1",
        "knowledge graph": "entity user",
        "requests": "4 of 5",
    }


def test_a_word_that_nobody_said_is_in_none_of_them(bench: Bench) -> None:
    assert set(held(bench, "hornbeam").values()) == {""}
    assert forgotten(memories(bench, "hornbeam")).outcome is Outcome.HOLDS


def test_a_word_that_is_remembered_is_not_forgotten(bench: Bench) -> None:
    verdict = forgotten(memories(bench, WORD))
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings[0] == "threads: conversation 1, conversation 2"
    assert not any(finding.startswith("context") for finding in verdict.findings)


def test_what_could_not_be_looked_into_is_unknown() -> None:
    found = pd.DataFrame({"memory": ["threads", "requests"], "holds_it": ["", "unknown"]})
    assert forgotten(found).findings == ("missing: a look into the requests",)
    assert forgotten(found[:0]).outcome is Outcome.UNKNOWN
