"""A step of set-up that fails says its last words and what helps."""

import os
import sys
from pathlib import Path

import pytest

from lab.failure import LabFailure
from lab.programs import version_numbers
from lab.steps import OTHERWISE, Steps, remedy_for


def test_a_step_that_succeeds_is_in_the_log(tmp_path: Path) -> None:
    steps = Steps(log=tmp_path / "log" / "setup.log")
    steps.run(
        "Trying", [sys.executable, "-c", "print('well')"], environ=os.environ, folder=tmp_path
    )
    assert steps.log.read_text().split() == ["==", "Trying", "well"]


def test_a_step_that_fails_says_its_last_words(tmp_path: Path) -> None:
    steps = Steps(log=tmp_path / "setup.log")
    code = "import sys; sys.exit('No space left on device (os error 28)')"
    with pytest.raises(LabFailure) as failure:
        steps.run("Trying", [sys.executable, "-c", code], environ=os.environ, folder=tmp_path)
    told = str(failure.value)
    assert told.startswith("Trying failed (exit code 1):\n  No space left on device")
    assert "The disk is full" in told


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    steps = Steps(log=tmp_path / "setup.log")
    with pytest.raises(LabFailure, match="no-such-program could not be started"):
        steps.run("Trying", ["no-such-program"], environ=os.environ, folder=tmp_path)


@pytest.mark.parametrize(
    ("said", "helps"),
    [
        ("npm error code EAI_AGAIN", "Connect"),
        ("error: Failed to fetch: `https://…`", "Connect"),
        ("npm error code ENOSPC", "disk is full"),
        ("OSError: [Errno 30] Read-only file system: '/x'", "cannot be written"),
        ("The lockfile at `uv.lock` needs to be updated", "do not match"),
        ("Failed to fetch: … invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE"),
        ("segmentation fault", OTHERWISE),
    ],
)
def test_the_remedy_fits_what_was_said(said: str, helps: str) -> None:
    assert helps in remedy_for(said)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("uv 0.13.9 (x86_64-unknown-linux-gnu)", (0, 13, 9)),
        ("v20.20.2", (20, 20, 2)),
        ("22.0.0-nightly", (22, 0, 0)),
        ("command not found", ()),
        ("", ()),
    ],
)
def test_a_version_is_read_from_what_a_program_says(text: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(text) == numbers
