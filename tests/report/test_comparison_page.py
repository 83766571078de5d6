"""What a cell says of one report's figure: codes for programs, words on pages."""

from assay.records.verdicts import Status, Why
from assay.report.comparison_page import cell
from tests.findings.test_card_spread import figure

SPACE = "\N{NO-BREAK SPACE}"


def test_a_figure_stands_with_interval_and_cause():
    missed = figure(90.0, status=Status.NOT_REPRODUCED, why=Why.ORIGINAL_SLOWER)
    assert cell(missed) == f"not_reproduced: 90{SPACE}TFLOP/s [89.50, 90.50] (original_slower)"
    assert cell(missed, words=True) == (
        f"not reproduced: 90{SPACE}TFLOP/s [89.50, 90.50] ({Why.ORIGINAL_SLOWER.short})"
    )


def test_what_it_would_be_elsewhere_is_told():
    there = figure(90.0, status=Status.ELSEWHERE, as_if=Status.NOT_REPRODUCED)
    assert cell(there).startswith("elsewhere (there: not_reproduced): ")
    assert cell(there, words=True).startswith("elsewhere (there: not reproduced): ")


def test_what_was_not_measured_says_why():
    nothing = {"measured": None, "ci90": None, "question": None}
    left = figure(1.0, status=Status.NOT_RUN, reason="no_device").model_copy(update=nothing)
    assert cell(left) == "not_run (no_device)"
    assert cell(left, words=True) == "not run (no device)"
    assert cell(None) == "absent"
