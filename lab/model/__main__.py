"""python -m lab.model: a scripted stand-in for a language model, speaking Ollama's protocol."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from lab import child
from lab.model.ledger import Ledger
from lab.model.script import ScriptedTurn, read_script
from lab.model.server import ModelServer
from lab.model.tempo import Tempo, rate

NAME: Final = "Scripted model, not a language model"


def main() -> int:
    options = _parser().parse_args()
    try:
        script = _read(options.script)
        ledger = Ledger(options.log)
    except (OSError, ValueError) as error:
        print(f"{NAME} cannot start: {error}", file=sys.stderr)
        return 2
    server = ModelServer(
        model=options.model,
        tempo=Tempo(options.tokens_per_second),
        ledger=ledger,
        script=script,
    )
    return child.serve(server.handle, options, name=NAME, when_ready=server.warm_up)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab.model", description=__doc__, allow_abbrev=False
    )
    child.add_arguments(parser)
    parser.add_argument("--model", default="qwen3", help="the name it answers to")
    parser.add_argument(
        "--tokens-per-second", type=rate, default=0, metavar="N", help="0 is without delay"
    )
    parser.add_argument("--script", type=Path, metavar="F.json", help="what to answer first")
    parser.add_argument("--log", type=Path, metavar="F.jsonl", help="gets every request")
    return parser


def _read(script: Path | None) -> list[ScriptedTurn]:
    if script is None:
        return []
    try:
        return read_script(json.loads(script.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{script} is no script. {error}") from error


if __name__ == "__main__":
    sys.exit(main())
