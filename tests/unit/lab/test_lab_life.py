"""A process's life is on record for whoever draws it later."""

import signal
from pathlib import Path

from lab.life import Life, note_end, note_frozen, note_start, note_thaw, read_lives
from lab.tree import Record


def kept(directory: Path, start: int) -> str:
    record = Record(name="server", start=start, pid=1, born="", created=10.0)
    record.save(directory)
    note_start(directory, record.label)
    return record.label


def test_a_life_has_a_start_and_the_first_end_that_was_seen(tmp_path: Path) -> None:
    label = kept(tmp_path, 1)
    note_end(tmp_path, label, -signal.SIGKILL)
    note_end(tmp_path, label, 0)
    (life,) = read_lives(tmp_path)
    assert life.end == "killed"
    assert life.was_killed
    assert life.ended is not None
    assert life.began <= life.ended


def test_an_end_that_nobody_saw_is_unknown(tmp_path: Path) -> None:
    kept(tmp_path, 1)
    (life,) = read_lives(tmp_path)
    assert (life.ended, life.end, life.was_killed) == (None, "", False)


def test_a_start_that_was_not_noted_is_the_systems(tmp_path: Path) -> None:
    Record(name="server", start=1, pid=1, born="", created=10.0).save(tmp_path)
    assert read_lives(tmp_path)[0].began == 10.0


def test_an_end_is_told_in_words() -> None:
    def end(status: int) -> str:
        return Life(name="s", label="s#1", began=0, ended=1, status=status).end

    assert [end(0), end(3), end(-15)] == ["stopped", "ended with status 3", "ended by signal 15"]


def test_it_stands_frozen_until_it_is_thawed_or_ends(tmp_path: Path) -> None:
    label = kept(tmp_path, 1)
    for note in (note_frozen, note_frozen, note_thaw, note_frozen):
        note(tmp_path, label)
    (once, again) = read_lives(tmp_path)[0].frozen
    assert once[1] is not None
    assert once[0] <= once[1] <= again[0]
    assert again[1] is None
    note_end(tmp_path, label, -signal.SIGKILL)
    (life,) = read_lives(tmp_path)
    assert life.frozen[-1] == (again[0], life.ended)


def test_a_second_start_was_never_frozen(tmp_path: Path) -> None:
    first, _ = kept(tmp_path, 1), kept(tmp_path, 2)
    note_frozen(tmp_path, first)
    assert [len(life.frozen) for life in read_lives(tmp_path)] == [1, 0]
