"""The house, proved: who may import whom, who owns what, and how large a room may be."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parent.parent
MOST_LINES: Final = 250
FORBIDDEN_NAMES: Final = {
    "utils",
    "util",
    "helpers",
    "common",
    "core",
    "models",
    "services",
    "misc",
}

VALUES: Final = (
    "conversation",
    "errors",
    "events",
    "failpoints",
    "importing",
    "log",
    "protections",
    "run",
    "settings",
    "tool",
    "tracing",
    "variables",
)
# A room may import its own level and any level before it. Rooms of one level are peers.
LEVELS: Final = (VALUES, ("agent", "tools", "storage"), ("runtime",), ("web", "testing"))
PEERS: Final = {"agent", "tools", "storage"}
LAB_MAY_IMPORT: Final = {"events", "failpoints", "protections", "run", "testing"}

FILES: Final = sorted([*ROOT.glob("sophos/**/*.py"), *ROOT.glob("lab/**/*.py")])
MODULES: Final = {str(file.relative_to(ROOT)): file for file in FILES}


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(file: Path) -> Iterator[tuple[str, ast.AST]]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno} imports relatively"
            yield node.module or "", node


def room(module: str) -> str:
    return module.removeprefix("sophos.").split(".")[0].removesuffix(".py")


def level(name: str) -> int:
    return next((n for n, names in enumerate(LEVELS) if name in names), len(LEVELS))


@pytest.mark.parametrize("path", [p for p in MODULES if p.startswith("sophos/")])
def test_imports_point_one_way(path: str) -> None:
    mine = room(".".join(Path(path).with_suffix("").parts))
    for module, node in imports(MODULES[path]):
        assert not module.startswith("lab"), f"{path} imports {module}"
        if module.startswith("sophos."):
            theirs = room(module)
            assert level(theirs) <= level(mine), f"{path}:{node.lineno} imports {module}"  # type: ignore[attr-defined]
            assert mine == theirs or not {mine, theirs} <= PEERS, (
                f"{path} imports its peer {module}"
            )


@pytest.mark.parametrize("path", [p for p in MODULES if p.startswith("lab/")])
def test_the_lab_meets_sophos_as_an_outsider(path: str) -> None:
    for module, _ in imports(MODULES[path]):
        if module.startswith("sophos"):
            assert room(module) in LAB_MAY_IMPORT, f"{path} imports {module}"


@pytest.mark.parametrize("path", MODULES)
def test_a_module_is_one_noun_and_small(path: str) -> None:
    assert Path(path).stem not in FORBIDDEN_NAMES
    assert len(MODULES[path].read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", [p for p in MODULES if p.endswith("__init__.py")])
def test_a_package_is_empty_of_code(path: str) -> None:
    assert not MODULES[path].read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("path", [p for p in MODULES if not p.endswith("__init__.py")])
def test_a_module_says_what_it_is(path: str) -> None:
    assert ast.get_docstring(tree(MODULES[path])), f"{path} has no docstring"


def offenders(names: set[str], *, allowed: tuple[str, ...], prefix: str = "sophos/") -> set[str]:
    """Modules that name one of `names` as `owner.attribute` outside the allowed rooms."""
    found = set()
    for path, file in MODULES.items():
        if not path.startswith(prefix) or path.startswith(allowed):
            continue
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in names:
                found.add(f"{path}:{node.lineno}")
    return found


def test_only_runtime_creates_tasks() -> None:
    # A tool server's session must be opened and closed by one task: it has its own in the toolbox.
    # The server runs uvicorn beside the opening of the runtime. An answer to a viewer has a task that
    # ends with it: a ping must not disturb the wait for the next event.
    web = ("sophos/web/server.py", "sophos/web/sse.py")
    allowed = ("sophos/runtime/", "sophos/tools/", *web)
    creators = {"asyncio.create_task", "asyncio.ensure_future", "asyncio.TaskGroup"}
    assert not offenders(creators, allowed=allowed)


def test_only_main_reads_the_environment() -> None:
    names = {"os.environ", "os.getenv", "os.putenv"}
    assert not offenders(names, allowed=("sophos/__main__.py",))


@pytest.mark.parametrize("path", [p for p in MODULES if p.startswith("sophos/")])
def test_only_storage_holds_sql(path: str) -> None:
    if path.startswith("sophos/storage/"):
        return
    words = ("SELECT ", "INSERT INTO", "UPDATE ", "DELETE FROM", "PRAGMA ")
    for node in ast.walk(tree(MODULES[path])):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not node.value.lstrip().startswith(words), f"{path}:{node.lineno} holds SQL"


def test_only_the_agent_knows_langchain() -> None:
    # The saver's base class takes LangChain's config.
    allowed = ("sophos/agent/", "sophos/storage/checkpoints.py")
    for path, file in MODULES.items():
        if path.startswith("sophos/") and not path.startswith(allowed):
            for module, node in imports(file):
                known = module.startswith(("langchain", "langgraph"))
                assert not known or _only_for_types(file, node), f"{path} imports {module}"


def _only_for_types(file: Path, wanted: ast.AST) -> bool:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return any(ast.dump(inner) == ast.dump(wanted) for inner in ast.walk(node))
    return False


@pytest.mark.parametrize("path", [p for p in MODULES if p.startswith("sophos/")])
def test_only_web_knows_status_codes(path: str) -> None:
    if path.startswith("sophos/web/"):
        return
    for module, _ in imports(MODULES[path]):
        assert not module.startswith(("fastapi", "starlette")) or path == "sophos/__main__.py"


def test_only_named_deferrals_import_inside_a_function() -> None:
    for path, file in MODULES.items():
        lines = file.read_text(encoding="utf-8").splitlines()
        for function in ast.walk(tree(file)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        assert "PLC0415" in lines[node.lineno - 1], f"{path}:{node.lineno}"


def test_the_top_level_is_what_was_agreed() -> None:
    allowed = {
        *("pyproject.toml", "README.md", "lessons", "sophos", "lab", "config", "tests"),
        *("compose.yaml", "docs", "uv.lock", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"),
    }
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    top = {name.split("/")[0] for name in listed}
    assert {name for name in top if not name.startswith(".")} <= allowed
