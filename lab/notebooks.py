"""python -m lab.notebooks: JupyterLab on the lessons, as a child that keeps to the project.

It listens on loopback behind a token, asks no server elsewhere for news or extensions, and ends
with its kernels when its owner's pipe closes. What it remembers is where JUPYTER_CONFIG_DIR says.
In a container, which is its owner there, it is given another `--host` and no pipe.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any, Final

import nbformat
from jupyter_core.paths import jupyter_config_dir
from jupyterlab.labapp import LabApp  # type: ignore[import-untyped]  # it ships no types

HOST: Final = "127.0.0.1"
FIRST_PORT: Final = 8888
OTHER_PORTS: Final = 50  # how many further ones are tried
# Without an answer the page would ask whether to fetch news.
DEFAULTS: Final = {
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    }
}
# A lesson is opened with its outputs folded (tests/lessons/record.py). In place of each JupyterLab
# would show its first line, which is an answer or, of a table, a tag.
STYLE: Final = """\
.jp-OutputPlaceholder .jp-PlaceholderText { display: none; }
.jp-OutputPlaceholder .jp-Placeholder-contentContainer::before {
  content: "Output folded. Run the cell, or click here to see what is recorded.";
  color: var(--jp-ui-font-color2);
  font-family: var(--jp-ui-font-family);
}
"""
READ_AT_ONCE: Final = 4096  # bytes


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.notebooks", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("folder", type=Path, help="the folder of the notebooks")
    parser.add_argument("--port", type=int, default=FIRST_PORT, help="the first to try")
    parser.add_argument("--host", default=HOST, help="the address to listen on")
    parser.add_argument("--ready-file", type=Path)
    parser.add_argument("--owner-pipe", choices=["stdin"])
    options = parser.parse_args()
    _write_defaults(Path(jupyter_config_dir()))
    server = LabApp.initialize_server(argv=_flags(options.folder, options.host, options.port))
    _trust(server.contents_manager.notary, options.folder)
    server.contents_manager.register_pre_save_hook(_without_version)
    if options.owner_pipe:
        threading.Thread(target=_watch_owner, args=(server,), daemon=True).start()
    if options.ready_file:
        # Called by the loop, so it is serving by then.
        server.io_loop.add_callback(
            partial(_announce, server, options.ready_file, _first(options.folder))
        )
    server.start()
    return 0


def _write_defaults(config: Path) -> None:
    """What JupyterLab's page starts from; what a person chooses there goes on top."""
    for name, text in {
        "labconfig/default_setting_overrides.json": json.dumps(DEFAULTS),
        "custom/custom.css": STYLE,
    }.items():
        place = config / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def _trust(notary: Any, folder: Path) -> None:
    """Sign the notebooks as they are, so that the figures stored in them are shown at once.

    Whoever starts the lab runs the project's code. What comes into the folder later is not signed.
    """
    for path in sorted(folder.glob("*.ipynb")):
        try:
            notary.sign(nbformat.read(path, as_version=4))  # type: ignore[no-untyped-call]
        except (OSError, ValueError):
            # JupyterLab itself says what is wrong with it, once it is opened.
            continue


def _without_version(model: Any, **_: Any) -> None:
    """Leave Python's version out of a notebook that is saved.

    JupyterLab writes it in, unasked: a lesson would differ on each machine that it is opened on.
    """
    if model["type"] == "notebook" and model.get("content"):
        model["content"]["metadata"].get("language_info", {}).pop("version", None)


def _flags(folder: Path, host: str, port: int) -> list[str]:
    flags = {
        "ServerApp.ip": host,
        "ServerApp.port": port,
        "ServerApp.port_retries": OTHER_PORTS,
        # The project's folder: lessons point at its modules, tests and documents.
        "ServerApp.root_dir": folder.parent,
        "ServerApp.open_browser": False,
        "ServerApp.use_redirect_file": False,
        "ServerApp.no_browser_open_file": True,
        "LabApp.extension_manager": "readonly",
        "LabApp.check_for_updates_class": ("jupyterlab.handlers.announcements.NeverCheckForUpdate"),
        "LabApp.news_url": None,
        "LabApp.custom_css": True,
    }
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container one often is root, and the token guards the door there as well.
        flags["ServerApp.allow_root"] = True
    return [f"--{name}={value}" for name, value in flags.items()]


def _first(folder: Path) -> str:
    """The lesson to open, below the project's folder; empty if there is none."""
    notebooks = sorted(folder.glob("*.ipynb"))
    return f"{folder.name}/{notebooks[0].name}" if notebooks else ""


def _announce(server: Any, ready_file: Path, first: str) -> None:
    page = f"lab/tree/{first}" if first else "lab"
    url = f"http://{HOST}:{server.port}/{page}?token={server.identity_provider.token}"
    draft = ready_file.with_name(f"{ready_file.name}.{os.getpid()}")
    draft.touch(mode=0o600)  # the token is for this user alone
    draft.write_text(json.dumps({"pid": os.getpid(), "port": server.port, "url": url}))
    draft.replace(ready_file)


def _watch_owner(server: Any) -> None:
    while os.read(sys.stdin.fileno(), READ_AT_ONCE):
        pass
    server.stop(from_signal=True)


if __name__ == "__main__":
    sys.exit(main())
