"""Reports side by side: which figures changed, which shifted, what else differs."""

import pytest

from assay.findings.report_comparison import (
    Standing,
    compare_figures,
    differing_conditions,
    differing_products,
    regressions,
)
from assay.records.report_figures import ReportFigure
from assay.records.verdicts import Status
from tests.findings.short_reports import figure, machine, report

ONE = machine("card_a", "t1")


def standing(first, second):
    (row,) = compare_figures([report("run_1", ONE, first), report("run_2", ONE, second)])
    return row


def test_another_status_is_a_change_however_close_the_figures():
    row = standing(figure(100.0), figure(100.1, status=Status.INCONCLUSIVE))
    assert row.standing is Standing.CHANGED
    assert row.difference == pytest.approx(0.001)


def test_intervals_without_a_common_point_are_a_shift():
    assert standing(figure(100.0), figure(101.1)).standing is Standing.SHIFTED
    assert standing(figure(100.0), figure(101.0)).standing is Standing.REST


def test_what_one_report_did_not_ask_is_no_change():
    nothing = {"measured": None, "ci90": None, "question": None}
    changes = {"status": Status.NOT_RUN, "reason": "not_selected"}
    left_out = figure(100.0).model_copy(update=nothing | changes)
    for reason in ("not_selected", "no_device", "not_recorded", "configuration_missing"):
        absent = left_out.model_copy(update={"reason": reason})
        assert standing(figure(100.0), absent).standing is Standing.SOME
        assert standing(absent, absent).standing is Standing.REST
    failed = left_out.model_copy(update={"reason": "build_failed"})
    assert standing(figure(100.0), failed).standing is Standing.CHANGED


def test_one_gpu_and_second_with_other_samples_is_warned_of():
    one, two = report("run_1", ONE, figure(100.0)), report("run_2", ONE, figure(103.0))
    (told,) = differing_conditions(["A", "B"], [one, two])
    assert told.startswith("1 measurement of one GPU and one second has other samples")
    later = two.model_copy(update={"rules": two.rules + 1})
    (told,) = differing_conditions(["A", "B"], [one, later])
    assert told.startswith("judging rules differ")


def test_card_driver_commit_and_protocol_are_warned_of():
    other = machine("card_b", "t2", driver="590", commit="c2")
    reports = [
        report("run_1", ONE, figure(100.0)),
        report("run_2", other, figure(100.0, protocol="events:2")),
    ]
    told = list(differing_conditions(["A", "B"], reports))
    assert "h100: card differs: A: card_a; B: card_b" in told
    assert "h100: driver differs: A: 580; B: 590" in told
    assert "h100: commit that measured differs: A: c1; B: c2" in told
    assert "protocol differs: 1 measurement was made by another one" in told
    assert len(told) == 4
    assert list(differing_conditions(["A", "B"], [reports[0], reports[0]])) == []
    told = list(differing_conditions(["A", "B", "C"], [reports[0], reports[0], reports[1]]))
    assert "h100: card differs: A and B: card_a; C: card_b" in told


def test_that_products_differ_is_said_and_how_far():
    h200 = machine("card_c", "t3", target="h200", product="H200")
    one, two = report("run_1", ONE), report("run_2", h200)
    both = one.model_copy(update={"machines": (ONE, h200)})
    assert differing_products(["A", "B"], [one, one]) is None
    assert differing_products(["A", "B"], [one, one.model_copy(update={"machines": ()})]) is None
    assert differing_products(["A", "B"], [one, two]).startswith("different GPU products, none of")
    assert differing_products(["A", "B"], [one, both]) == (
        "GPU products differ (A: H100; B: H100 and H200): figures are held together on one "
        "product alone"
    )


class TestRegressions:
    """A figure that held and does not, or whose whole interval is on the worse side."""

    @staticmethod
    def found(before: ReportFigure, now: ReportFigure) -> list[str]:
        later = report("run_2", machine("card_b", "t2"), now)
        return [each.claim for each, _ in regressions(report("run_1", ONE, before), later)]

    @pytest.mark.parametrize(("now", "regressed"), [(98.9, True), (99.1, False), (120.0, False)])
    def test_an_interval_counts_as_a_whole(self, now: float, regressed: bool) -> None:
        assert self.found(figure(100.0, better=1), figure(now, better=1)) == ["rate"] * regressed
        mirrored = figure(100.0, better=-1), figure(200.0 - now, better=-1)
        assert self.found(*mirrored) == ["rate"] * regressed
        assert self.found(figure(100.0), figure(now)) == []  # neither side is better

    @pytest.mark.parametrize(
        ("before", "now", "regressed"),
        [
            (Status.REPRODUCED, Status.INCONCLUSIVE, True),
            (Status.EXCEEDED, Status.NOT_RUN, True),
            (Status.EXCEEDED, Status.REPRODUCED, False),
            (Status.INCONCLUSIVE, Status.NOT_REPRODUCED, False),
        ],
    )
    def test_a_verdict_falls_from_holding(self, before, now, regressed):
        found = self.found(figure(100.0, status=before), figure(100.0, status=now))
        assert found == ["rate"] * regressed

    def test_figures_of_other_problems_are_not_held_together(self) -> None:
        other = figure(50.0, better=1, question="another")
        assert self.found(figure(100.0, better=1), other) == []
