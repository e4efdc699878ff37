"""What set-up made counts as done only while it is whole and made from the lock files as they are."""

import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from lab.environment import Environment, Part
from lab.failure import LabFailure


@pytest.fixture
def part(tmp_path: Path) -> Part:
    lock = tmp_path / "uv.lock"
    lock.write_text("one")
    folder = tmp_path / "made"
    return Part(title="a part", folder=folder, sources=(lock,), witnesses=(folder / "python",))


@pytest.fixture
def made(part: Part) -> Part:
    with part.remade():
        (part.folder / "python").touch()
    return part


def test_a_part_is_in_step_once_it_is_made(part: Part) -> None:
    assert not part.in_step()
    with part.remade():
        (part.folder / "python").touch()
        assert not part.in_step()
    assert part.in_step()


def test_another_lock_file_makes_it_be_made_again(made: Part) -> None:
    made.sources[0].write_text("two")
    assert not made.in_step()


def test_a_part_without_its_witness_is_made_again(made: Part) -> None:
    made.witnesses[0].unlink()
    assert not made.in_step()
    made.witnesses[0].symlink_to("a Python that was removed")
    assert not made.in_step()


def test_a_part_that_was_moved_is_made_again(made: Part) -> None:
    elsewhere = made.folder.with_name("elsewhere")
    made.folder.rename(elsewhere)
    moved = Part(
        title=made.title,
        folder=elsewhere,
        sources=made.sources,
        witnesses=(elsewhere / "python",),
    )
    assert not moved.in_step()


def test_what_was_cut_off_is_never_taken_as_done(made: Part) -> None:
    with suppress(KeyboardInterrupt), made.remade():
        (made.folder / "half").touch()
        raise KeyboardInterrupt
    assert not made.in_step()
    with made.remade() as leftovers:
        assert not leftovers
        assert not (made.folder / "half").exists()


def test_emptying_that_is_cut_off_leaves_the_mark(
    part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(path: Path) -> None:
        raise KeyboardInterrupt(path)

    (part.folder / "lib").mkdir(parents=True)
    part.mark.touch()
    monkeypatch.setattr(shutil, "rmtree", cut_off)
    with pytest.raises(KeyboardInterrupt), part.remade():
        pass
    assert part.mark.exists()


def test_a_missing_lock_file_is_named(tmp_path: Path) -> None:
    part = Environment(root=tmp_path).packages_part
    part.folder.mkdir()
    part.stamp.touch()
    with pytest.raises(LabFailure, match=r"pyproject\.toml is missing"):
        part.in_step()
