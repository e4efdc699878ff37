import pytest

from lab.measure import main, scripts


def test_every_script_of_the_folder_has_a_name() -> None:
    assert {"class", "failpoints", "page", "start", "requests", "threads"} <= set(scripts())
    assert all(script.is_file() for script in scripts().values())


def test_a_measure_that_is_not_there_is_refused_and_the_others_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["speed"])
    assert refused.value.code == 2
    assert (
        "there is no measure speed: write class, failpoints, page, requests, start, threads"
        in capsys.readouterr().err
    )
