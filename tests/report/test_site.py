"""What a site makes of several reports: whom it counts, and what it ranks."""

from assay.findings.report_comparison import GivenReport
from assay.records.report_figures import ArmRate, ReportFigures
from assay.report.site import Site, SiteClaim, SiteReport
from tests.findings.short_reports import figure, machine, report


def given(of: ReportFigures, holder: str) -> GivenReport:
    key = f"key of {of.run}"
    return GivenReport(of.run, of.run, of, key, "verified", holder=holder, measurer=holder)


def claim_of(*reports: GivenReport) -> SiteClaim:
    site = Site()
    for each in reports:
        site.add(each)
    (found,) = site.summaries()
    return found


def test_two_keys_of_one_holder_are_one_signer_and_a_copy_is_no_measurement() -> None:
    one = report("run_1", machine("card_a", "t1"), figure(100.0))
    copied = report("run_2", machine("card_a", "t1"), figure(100.0, taken_over=True))
    again = report("run_3", machine("card_b", "t3"), figure(101.0))
    claim = claim_of(given(one, "lab"), given(copied, "else"), given(again, "lab"))
    assert (len(claim.measured), claim.signers) == (2, {"lab"})
    assert claim.cards == {"card_a", "card_b"}
    other = report("run_4", machine("card_c", "t4"), figure(99.0))
    claim = claim_of(given(one, "lab"), given(again, "lab"), given(other, "else"))
    assert (claim.signers, claim.agreeing()) == ({"lab", "else"}, "2 of 2 agree")


def rate(variant: str, low: float, high: float, shape: str = "m=1") -> ArmRate:
    return ArmRate(
        target="h100", comparison="sweep", title="A sweep", operation="bsr_gemm",
        variant=variant, workload="w", shape=shape, time_ms=(low + high) / 2, ci90_ms=(low, high),
        tflop_per_s=1.0, gb_per_s=1.0, roofline_fraction=0.5,
    )  # fmt: skip


def test_intervals_that_meet_share_a_rank_and_problems_are_ranked_apart() -> None:
    rates = (rate("slow", 3.0, 4.0), rate("a", 1.0, 2.0), rate("b", 1.9, 2.5),
             rate("alone", 0.1, 0.2, "m=2"))  # fmt: skip
    figures = report("run_1", machine("card_a", "t1")).model_copy(update={"rates": rates})
    site = Site()
    site.add(given(figures, "lab"))
    (ranking,) = site.rankings()
    assert [(row["rank"], row["variant"]) for row in ranking.rows()] == [
        (1, "a"), (1, "b"), (3, "slow"),
    ]  # fmt: skip


def test_a_load_is_ranked_by_what_it_moves() -> None:
    load = rate("a", 1.0, 2.0).model_copy(update={"operation": "tma_load", "gb_per_s": 2728.0})
    figures = report("run_1", machine("card_a", "t1")).model_copy(update={"rates": (load, load)})
    site = Site()
    site.add(given(figures, "lab"))
    assert [row["rate"] for row in site.rankings()[0].rows()] == ["2728\N{NO-BREAK SPACE}GB/s"] * 2


def test_a_row_of_an_older_page_is_one_gpus() -> None:
    new = report("run_1", machine("card_a", "t1")).model_copy(update={"rules": 6})
    old = new.model_copy(update={"rules": 3})
    rows = [
        SiteReport(given(each, "lab")).row("rate", target)
        for each, target in ((old, "h100"), (old, ""), (new, "h100"))
    ]
    assert rows == ["rate.h100", "rate", "rate"]
