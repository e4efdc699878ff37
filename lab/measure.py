"""How fast it is here, as tables. Nothing in them passes or fails."""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "tests" / "benchmarks"
_PREFIX: Final = "measure_"
_AS_WRITTEN: Final = argparse.RawDescriptionHelpFormatter


def scripts() -> dict[str, Path]:
    """What can be measured, by name."""
    found = sorted(FOLDER.glob(f"{_PREFIX}*.py"))
    return {script.stem.removeprefix(_PREFIX): script for script in found}


def meaning(script: Path) -> str:
    """The first sentence of what a script says of itself."""
    return (ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or "").splitlines()[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scripts named, or all of them."""
    known = scripts()
    about = "\n".join(f"  {name:<12} {meaning(script)}" for name, script in known.items())
    parser = argparse.ArgumentParser(
        prog="lab measure",
        description=__doc__,
        epilog=about,
        formatter_class=_AS_WRITTEN,
        allow_abbrev=False,
    )
    parser.add_argument(
        "names", nargs="*", metavar="name", help="what to measure (everything there is)"
    )
    parser.add_argument("--samples", type=int, default=5, help="of each figure; its median is told")
    parser.add_argument("--json", type=Path, help="a folder for a file of every sample")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"there is no measure {', '.join(unknown)}: write {', '.join(known)}")
    for name in options.names or known:
        print(f"\n{name}\n", flush=True)
        command = [sys.executable, str(known[name]), "--samples", str(options.samples)]
        if options.json is not None:
            options.json.mkdir(parents=True, exist_ok=True)
            command += ["--json", str(options.json / f"{name}.json")]
        ended = subprocess.run(command, check=False)
        if ended.returncode:
            return ended.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
