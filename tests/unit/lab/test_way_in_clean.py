"""Cleaning takes what the lab made, and what a person made only with their word."""

import json
import os
from pathlib import Path

import pytest

from lab.clean import KEPT, clean, main
from lab.environment import Environment
from lab.failure import LabFailure
from lab.lockfile import hold


def agree(_: str) -> bool:
    return True


def refuse(_: str) -> bool:
    return False


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    for name in ("data/lab/06-1", ".mypy_cache", "lab/__pycache__", *(name for name, _ in KEPT)):
        place = tmp_path / name
        if place.suffix == ".db":
            place.touch()
        else:
            place.mkdir(parents=True)
            (place / "a file").touch()
    return Environment(root=tmp_path)


def test_workspaces_and_caches_go(environment: Environment) -> None:
    clean(environment, everything=False, consents=refuse)
    assert not list(environment.root.glob("data/lab/06-1"))
    assert not list(environment.root.rglob(".mypy_cache"))
    assert not list(environment.root.rglob("__pycache__"))


@pytest.mark.parametrize("everything", [False, True])
def test_what_a_person_made_stays_without_consent(
    environment: Environment, *, everything: bool
) -> None:
    clean(environment, everything=everything, consents=refuse)
    assert all((environment.root / name).exists() for name, _ in KEPT)
    assert (environment.root / "data/db/a file").exists()


def test_each_thing_that_is_kept_is_asked_for_by_its_name(environment: Environment) -> None:
    clean(environment, everything=True, consents=lambda question: "data/memory" in question)
    assert (environment.root / "data/db/a file").exists()
    assert not (environment.root / "data/memory").exists()


def test_everything_goes_with_consent(environment: Environment) -> None:
    clean(environment, everything=True, consents=agree)
    assert not [name for name, _ in KEPT if (environment.root / name).exists()]


def test_nothing_goes_while_the_lab_runs(environment: Environment) -> None:
    with hold(environment.session_lock), pytest.raises(LabFailure, match="Stop it first"):
        clean(environment, everything=True, consents=agree)
    assert (environment.root / "data/lab/06-1/a file").exists()


def test_nothing_goes_while_a_sophos_has_the_database(environment: Environment) -> None:
    lock = environment.root / "data" / "db" / "sophos.db.lock"
    with hold(lock), pytest.raises(LabFailure, match="A Sophos is using"):
        clean(environment, everything=True, consents=agree)
    assert (environment.root / "data/lab/06-1/a file").exists()


def test_nothing_goes_while_a_lesson_is_at_work(environment: Environment) -> None:
    owner = environment.state / "06-1" / "owner.json"
    owner.write_text(json.dumps({"pid": os.getpid(), "born": "0"}), encoding="utf-8")
    with pytest.raises(LabFailure, match="Close its notebook first"):
        clean(environment, everything=True, consents=agree)
    assert owner.exists()


def test_a_link_goes_and_what_it_leads_to_stays(
    environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "precious").touch()
    (environment.root / "data" / "db" / "a file").unlink()
    (environment.root / "data" / "db").rmdir()
    (environment.root / "data" / "db").symlink_to(elsewhere)
    clean(environment, everything=True, consents=agree)
    assert (elsewhere / "precious").exists()


def test_half_an_option_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.clean.clean", lambda *_, **__: None)
    with pytest.raises(SystemExit) as refused:
        main(["--al"])
    assert refused.value.code == 2
