"""pytest -p tests.no_skips: a test that would be skipped fails, so that none is left out unseen.

A test that is expected to fail is not skipped and stays what it is.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(report)
    return report


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        place = report.longrepr
        reason = place[2] if isinstance(place, tuple) else str(place)
        report.outcome = "failed"
        report.longrepr = f"Nothing may be skipped here. {reason}"
