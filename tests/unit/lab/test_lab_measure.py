import pytest

from lab.measure import main, meaning, scripts


def test_every_script_of_the_folder_has_a_name() -> None:
    assert {"class", "failpoints", "page", "record", "start", "requests", "threads"} <= set(
        scripts()
    )
    assert all(script.is_file() for script in scripts().values())


def test_a_measure_that_is_not_there_is_refused_and_the_others_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["speed"])
    assert refused.value.code == 2
    assert (
        "there is no measure speed: write class, failpoints, page, record, requests, start, threads"
        in capsys.readouterr().err
    )


def test_help_says_what_each_measure_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed and meaning(at) in printed for name, at in scripts().items())
