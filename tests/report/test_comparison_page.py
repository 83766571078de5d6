"""What a cell says of one report's figure, and what is said of them all."""

from assay.findings.report_comparison import GivenReport, Standing
from assay.records.report_figures import ReportFigures
from assay.records.verdicts import Status
from assay.report.comparison_page import comparison_view
from tests.findings.short_reports import figure, machine, report


def view(*reports: ReportFigures):
    given = [GivenReport(each.run, each.run, each, "key", "verified") for each in reports]
    return comparison_view(given, ())


def test_what_is_counted_is_what_was_held_together():
    arithmetic = figure(1.0, claim="sum", target=None, status=Status.CONSISTENT, ci90=None)
    here, alone = figure(100.0), figure(5.0, claim="alone")
    one = report("run_1", machine("card_a", "t1"), here, alone, arithmetic)
    two = report("run_2", machine("card_b", "t2"), here, arithmetic)
    assert view(one, two).counts() == (
        "3 published speed figures: 2 alike, 1 answered in some of the reports alone",
    )


def test_a_measurement_that_answers_two_claims_counts_once_by_the_one_that_changed():
    missed = {"status": Status.NOT_REPRODUCED}
    one = report("run_1", machine("card_a", "t1"), figure(100.0, counted_as=0),
                 figure(100.0, claim="again", counted_as=0),
                 figure(50.0, claim="other", counted_as=1))  # fmt: skip
    two = report("run_2", machine("card_b", "t2"), figure(100.0, counted_as=4),
                 figure(100.0, claim="again", counted_as=4, **missed),
                 figure(50.0, claim="other", counted_as=2))  # fmt: skip
    seen = view(one, two)
    assert seen.counts() == ("2 published speed figures: 1 changed, 1 alike",)
    assert [row.claim for row in seen.of(Standing.CHANGED)] == ["again"]
    assert seen.heading(Standing.REST) == "The rest: 1 counted, in 2 lines"
    assert [row.claim for row in seen.measurements] == ["again", "other"]
