"""`lab start`: the scripted model, the web site, Sophos and JupyterLab, until Ctrl-C.

What it starts dies with it, however it ends. Durable: your conversations and the graph, where
Sophos keeps them (data/db, data/memory), and the logs of this start in data/lab/session.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from lab.browser import is_at_hand, show
from lab.children import JUPYTER_PORT, SITE_PORT
from lab.environment import Environment, here
from lab.facts import NotSeen, until
from lab.failure import LabFailure
from lab.lockfile import hold, is_held
from lab.model.tempo import rate
from lab.process import ProcessError
from lab.running import RunningLab, Wishes
from lab.session import Session, read_session, write_session
from lab.steps import Meter
from lab.surroundings import PORT, is_free, model, ollama_asked_for, port_number, whose

FIRST_START_WITHIN = 120.0  # seconds for another start of the same checkout to come up


def main(arguments: Sequence[str], environment: Environment | None = None) -> int:
    """Start everything, say where it is, and wait. Ctrl-C ends it, and leaves nothing behind."""
    options = command_line().parse_args(arguments)
    environment = environment or here()
    for number in _endings():
        signal.signal(number, _end)
    try:
        with hold(environment.session_lock) as descriptor:
            if descriptor is None:
                return _tell_of_the_first(environment, options)
            return _run(environment, options, os.environ)
    except (LabFailure, ProcessError, NotSeen) as failure:
        print(f"lab: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlab: stopped before it was up.", file=sys.stderr)
        return 128 + signal.SIGINT


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab start", description=main.__doc__, allow_abbrev=False)
    parser.add_argument(
        "--model",
        choices=["scripted", "ollama"],
        default="scripted",
        help="ollama asks the Ollama at OLLAMA_HOST for OLLAMA_MODEL (default: scripted)",
    )
    parser.add_argument("--port", type=_port_argument, help="where Sophos listens (default: 5173)")
    parser.add_argument(
        "--tokens-per-second",
        type=rate,
        default=40.0,
        metavar="N",
        help="how fast the scripted model speaks; 0 is without delay (default: 40)",
    )
    parser.add_argument("--no-browser", action="store_true", help="open no page")
    parser.add_argument("--no-jupyter", action="store_true", help="start Sophos without lessons")
    return parser


def _port_argument(text: str) -> int:
    try:
        return port_number(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _run(environment: Environment, options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    record = environment.state / "session.json"
    record.unlink(missing_ok=True)
    wishes = _wishes(options, environ)
    with RunningLab(environment, wishes, environ) as lab:
        print("Starting …", flush=True)
        session = lab.start()
        write_session(record, session)
        try:
            _welcome(session)
            _open(session, options, environ)
            lab.watch()
            raise LabFailure("All that was started has ended by itself.")
        except KeyboardInterrupt:
            print("\nEnding what was started …", flush=True)
        finally:
            record.unlink()
    print("Everything has ended. What you said to the agent is kept in data/db.")
    return 0


def _wishes(options: argparse.Namespace, environ: Mapping[str, str]) -> Wishes:
    ollama = None
    if options.model == "ollama":
        ollama = ollama_asked_for(environ)
        finding = model(environ, needed=True)
        if finding.remedy:
            # Not refused: it may come up while the lab runs.
            print(f"Note: {finding.subject} {finding.seen}. To mend it: {finding.remedy}.\n")
    tell_of_taken(jupyter=not options.no_jupyter)
    return Wishes(
        ollama=ollama,
        port=_port(options.port, environ),
        tokens_per_second=options.tokens_per_second,
        jupyter=not options.no_jupyter,
    )


def _port(wanted: int | None, environ: Mapping[str, str]) -> int:
    """The port that was asked for; where nobody asked, the usual one, or 0 if that is taken."""
    if wanted is not None:
        if wanted and not is_free(wanted):
            raise LabFailure(f"Port {wanted} is {whose(wanted)}. Choose another --port, or none.")
        return wanted
    try:
        usual = port_number(environ.get("PORT") or str(PORT))
    except ValueError as error:
        raise LabFailure(f"PORT cannot be used: {error}.") from error
    if usual and not is_free(usual):
        print(f"Note: port {usual} is {whose(usual)}. Sophos takes a free one instead.\n")
        return 0
    return usual


def tell_of_taken(*, jupyter: bool) -> None:
    """Say which of the usual ports cannot be had, so that no one asks there for ours."""
    parts = [("The web site", SITE_PORT), *([("JupyterLab", JUPYTER_PORT)] if jupyter else [])]
    for part, number in parts:
        if not is_free(number):
            print(f"Note: port {number} is {whose(number)}. {part} takes a free one instead.\n")


def _welcome(session: Session) -> None:
    print("The lab is running.\n")
    print(*session.lines(), sep="\n")
    print("\nCtrl-C here ends all of it.", flush=True)


def _open(session: Session, options: argparse.Namespace, environ: Mapping[str, str]) -> None:
    terminal = sys.stdout.isatty()
    if not options.no_browser and is_at_hand(environ, platform=sys.platform, terminal=terminal):
        show(next(iter(session.pages.values())))


def _tell_of_the_first(environment: Environment, options: argparse.Namespace) -> int:
    """Another lab holds this checkout: say where it is, once it is up."""
    record = environment.state / "session.json"
    meter = Meter("Waiting for the lab that is starting here")

    def is_settled() -> bool:
        meter.tick()
        return record.exists() or not is_held(environment.session_lock)

    until(is_settled, what="the lab that is starting here", seconds=FIRST_START_WITHIN)
    meter.end("done")
    session = read_session(record)
    if session is None:
        raise LabFailure("The lab that was starting here has ended. Run this again.")
    print(f"The lab is running already (pid {session.pid}).\n")
    print(*session.lines(), sep="\n")
    print(f"\nCtrl-C where it was started ends it, and so does: kill {session.pid}")
    if ignored := _wished(options):
        print(f"It goes on as it was started: {' and '.join(ignored)} would need a new start.")
    _open(session, options, os.environ)
    return 0


def _wished(options: argparse.Namespace) -> list[str]:
    """The options given that only a start can follow."""
    usual = vars(command_line().parse_args([]))
    given = [name for name, value in vars(options).items() if value != usual[name]]
    return [f"--{name.replace('_', '-')}" for name in given if name != "no_browser"]


def _endings() -> list[signal.Signals]:
    # When the terminal is closed, too.
    names = ("SIGTERM", "SIGHUP")
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _end(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
