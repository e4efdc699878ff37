import pytest
from images import Builder


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """The images that run when nothing but `docker compose up` is said, built without an engine."""
    builder = Builder(tmp_path_factory.mktemp("images"))
    for name in ("relay", "mcp-fetch", "mcp-memory", "sophos"):
        builder.build(name)
    return builder
