"""What a shutdown did to the runs that worked, judged on planted rows."""

import pandas as pd

from lab.check import Outcome
from lab.resources import stop_blames_no_run


def runs(*statuses: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"run": f"run {n}", "status": status, "error_code": "AGENT_FAILURE" * (status == "failed")}
        for n, status in enumerate(statuses, 1)
    )


def test_runs_that_were_interrupted_or_completed_are_in_order() -> None:
    verdict = stop_blames_no_run(runs("interrupted", "completed"))
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.findings == ("run 1 is interrupted, run 2 is completed",)


def test_a_run_that_failed_is_named_with_its_row() -> None:
    verdict = stop_blames_no_run(runs("interrupted", "failed"))
    assert verdict.outcome is Outcome.VIOLATED
    assert verdict.findings == ("run 2 is recorded as failed with AGENT_FAILURE (row 1)",)


def test_without_an_outcome_nobody_can_tell() -> None:
    assert stop_blames_no_run(runs("interrupted", "running")).outcome is Outcome.UNKNOWN
    assert stop_blames_no_run(runs().reindex(columns=["run", "status"])).outcome is Outcome.UNKNOWN
