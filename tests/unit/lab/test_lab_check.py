"""A verdict has three values, and says which evidence it has or lacks."""

import pytest

from lab.check import Outcome, check, counted


def test_nothing_against_the_claim_holds_and_says_what_was_seen() -> None:
    verdict = check("one effect per call", seen="3 effects")
    assert verdict.holds
    assert repr(verdict) == "✓ holds: one effect per call\n    3 effects"


def test_a_fault_violates_and_is_named_even_where_other_evidence_is_missing() -> None:
    verdict = check("one effect per call", faults=["call 2: twice"], missing=["the ledger"])
    assert verdict.outcome is Outcome.VIOLATED
    assert repr(verdict) == "✗ violated: one effect per call\n    call 2: twice"


def test_missing_evidence_is_unknown_and_named() -> None:
    verdict = check("one effect per call", seen=["a"], missing=["the ledger"])
    assert repr(verdict) == "? unknown: one effect per call\n    missing: the ledger"


def test_a_check_that_looked_at_nothing_is_unknown() -> None:
    assert check("one effect per call", seen=[]).outcome is Outcome.UNKNOWN


def test_a_verdict_is_never_taken_for_true_or_false() -> None:
    with pytest.raises(TypeError, match="three values"):
        assert check("one effect per call")


def test_a_verdict_in_a_page_says_in_words_what_the_colour_says_and_runs_nothing() -> None:
    html = check("<b>", faults=["<script>"])._repr_mimebundle_()["text/html"]
    assert "violated" in html
    assert "✗" in html
    assert "<script>" not in html
    assert "&lt;b&gt;" in html


def test_many_faults_are_counted() -> None:
    verdict = check("none", faults=map(str, range(8)))
    assert len(verdict.findings) == 8
    assert repr(verdict).endswith("    4\n    and 3 more")


def test_a_number_agrees_with_its_noun() -> None:
    assert [counted(number, "run") for number in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert counted(1, "process", "processes") == "1 process"
    assert counted(3, "process", "processes") == "3 processes"
