"""What a cell says of one report's figure, and what is said of them all."""

from pathlib import Path

from assay.findings.report_comparison import GivenReport, Standing
from assay.records.report_figures import ClaimInShort, ReportFigures
from assay.records.verdicts import Status
from assay.report.comparison_page import cell, comparison_page, comparison_view
from tests.findings.short_reports import figure, machine, report


def test_what_was_not_measured_says_why():
    nothing = {"measured": None, "ci90": None, "question": None}
    left = figure(1.0, status=Status.NOT_RUN, reason="no_device").model_copy(update=nothing)
    assert cell(left) == "not run (no device)"
    assert cell(None) == "not in this report"


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


TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"
LONG = "A claim of a title that is longer than any terminal of eighty columns has room for"


def shifted():
    """Return a view of two reports with three shifted figures, of which ``far`` moved most."""
    runs = [
        report(f"run_{number}", machine("card_a", f"t{number}"),
               figure(near, claim="near"), figure(far, claim="far_" + "x" * 20),
               figure(100.0, 30.0, claim="same"))
        for number, near, far in ((1, 100.0, 100.0), (2, 103.0, 60.0))
    ]  # fmt: skip
    said = {"near": ClaimInShort(title=LONG, claimed="100 TFLOP/s")}
    return view(*(run.model_copy(update={"claims": said}) for run in runs))


def test_the_page_has_the_order_of_the_view():
    seen = shifted()
    page = comparison_page(TEMPLATES, seen)
    places = [page.index(f"<small>{row.claim}</small>") for row in seen.figures]
    assert places == sorted(places)
