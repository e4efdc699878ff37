from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from runtime_parts import House, furnish

from lab.bench import Bench
from lab.witness import ScriptedModel

# One file is one worker's, so the one that takes longest begins first: no worker ends alone.
LONGEST: Final = "test_lesson_life.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name != LONGEST)


@pytest.fixture(scope="session")
def scripted_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedModel]:
    """The scripted model in a process of its own, shared by all tests of a session."""
    with Bench("model", model="scripted", root=tmp_path_factory.mktemp("lab")) as bench:
        yield bench.model
        bench.model.close()


@pytest.fixture
def house(tmp_path: Path, scripted_model: ScriptedModel) -> House:
    """Fresh files, a clean model and one small tool server, for `house.open()`."""
    return furnish(tmp_path / "house", scripted_model)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which claims about containers were checked in the file alone, and what the system said."""
    told = {
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in getattr(report, "user_properties", [])
        if name == "refused"
    }
    for words in sorted(told):
        terminalreporter.write_line(
            "This system allows no network namespaces, so no real socket was tried for"
            f" compose.yaml; what the file says was checked instead. Its words: {words}"
        )
