"""Whether there is a browser a person could see, and opening a page in it."""

from __future__ import annotations

import subprocess
import sys
import webbrowser
from collections.abc import Mapping
from typing import Final

_REMOTE: Final = ("SSH_CONNECTION", "SSH_TTY", "CI")
_SCREENS: Final = ("DISPLAY", "WAYLAND_DISPLAY")


def is_at_hand(environ: Mapping[str, str], *, platform: str, terminal: bool) -> bool:
    """Whether somebody sits at this machine's screen, as far as one can tell."""
    if not terminal or any(environ.get(name) for name in _REMOTE):
        return False
    return platform in ("darwin", "win32") or any(environ.get(name) for name in _SCREENS)


def show(url: str) -> None:
    """Open the page; nothing happens where there is only a browser for the terminal."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return
    # Those of the terminal would take this one, and have no JavaScript.
    if type(found) is webbrowser.GenericBrowser or type(found).__name__ == "Elinks":
        return
    # A process of its own: what a browser prints is not the lab's, and it outlives the lab.
    subprocess.Popen(
        [sys.executable, "-m", "webbrowser", url],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
