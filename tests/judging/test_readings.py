"""Readings, ratios of parts, other hardware, causes: what a figure means beside what it is."""

import re
from typing import Any

import pytest

from assay.judging.judge import judge
from assay.records.claims import Claim, ClaimKind, Hardware, Relation
from assay.records.evaluations import Metric, NotRun, Reading
from assay.records.plan import Answer
from assay.records.units import Unit
from assay.records.verdicts import Status, Why
from tests import builders as b
from tests.judging.asked import OURS_RATE, RIVAL_RATE, judged, quotient, rate

DENSITY = 0.25
HALF_WHOLE = OURS_RATE / DENSITY * 0.5


def reading(name: str, **changes: Any) -> Reading:
    values: dict[str, Any] = {
        "id": name,
        "says": f"as {name} says",
        "differs": "work",
        "evaluation": rate("ours"),
    }
    return Reading(**{**values, **changes})


def read(*readings: Reading, **changes: Any) -> Claim:
    changes.setdefault("evaluation", rate("ours"))
    evaluation = changes.pop("evaluation")
    return b.claim("rate", evaluation, reading="stored blocks", readings=readings, **changes)


WHOLE = reading("whole", flops="2 * m * n * k")


class TestReadings:
    """The primary reading decides; a figure that holds under another is misstated."""

    @pytest.mark.parametrize(
        ("changed", "claimed", "status", "why", "holds"),
        [
            ({}, {}, Status.MISSTATED, Why.OTHER_WORK_SEEMS, True),
            # A forecast has performed nothing that it could misstate.
            ({}, {"kind": ClaimKind.PREDICTION}, Status.INCONCLUSIVE, Why.HANGS_ON_UNSTATED, True),
            # Another build or rival is no misstatement.
            ({"differs": "build"}, {}, Status.NOT_REPRODUCED, ..., True),
            ({"differs": "rival"}, {}, Status.NOT_REPRODUCED, ..., True),
            # A figure that one open choice misses and another beats is open.
            ({"differs": "unstated"}, {"value": HALF_WHOLE}, Status.INCONCLUSIVE, ..., False),
            ({"differs": "build"}, {"value": HALF_WHOLE}, Status.NOT_REPRODUCED, ..., False),
            # More than a range asks for is no misstatement.
            (
                {"flops": "m * n * k * density_a"},
                {"value": OURS_RATE * 0.4, "to": OURS_RATE * 0.6, "relation": Relation.AT_LEAST},
                Status.EXCEEDED,
                None,
                True,
            ),
        ],
    )
    def test_what_a_reading_makes_of_a_figure(self, changed, claimed, status, why, holds):
        other = reading("other", **{"flops": "2 * m * n * k", **changed})
        (verdict,) = judged(read(other, **{"value": OURS_RATE / DENSITY, **claimed}))
        assert (verdict.status, verdict.readings[1].holds) == (status, holds)
        assert why in (..., verdict.why)

    def test_a_choice_that_holds_keeps_a_figure_from_being_misstated(self) -> None:
        choice = reading("choice", differs="unstated", flops="2 * m * n * k")
        (verdict,) = judged(read(WHOLE, choice, value=OURS_RATE / DENSITY))
        assert (verdict.status, verdict.why) == (Status.INCONCLUSIVE, Why.HANGS_ON_UNSTATED)

    @pytest.mark.parametrize(
        ("formula", "why"),
        [("2 * products", "asks for products; known here: .*density_a"), ("m - n", "above zero")],
    )
    def test_a_formula_that_the_record_cannot_fill_brings_no_figure(self, formula, why):
        """Records from before have no counts; the catalog refuses names that nothing has."""
        (verdict,) = judged(read(reading("odd", flops=formula), value=9000.0))
        odd = verdict.readings[1]
        assert (odd.measured, odd.holds) == (None, None)
        assert odd.reason is not None and re.search(why, odd.reason)

    def test_counts_of_the_record_are_facts_of_the_formula(self) -> None:
        facts = {"ours": b.facts("ours", counts={"products": 7.0})}
        claim = read(reading("counted", flops="1073741824 * products"), value=9000.0)
        (verdict,) = judged(claim, benchmarks=[b.benchmark(arm_facts=facts)])
        ratio = 7 * 2**30 / b.FLOP["ours"]
        assert verdict.readings[1].work_ratio == pytest.approx(ratio, rel=1e-4)


def gap_of(value: float, **changes: Any) -> Claim:
    given = {"unit": Unit.RATIO, "resolution": 0.1, "kind": ClaimKind.RATIO}
    return b.claim("gap", quotient(**changes), value=value, **given)


GAP = RIVAL_RATE / OURS_RATE


def parts_of(top: float, bottom: float) -> tuple[Claim, Claim]:
    """The two figures that the gap is formed from, each claimed so many times what is measured."""
    return (
        b.claim("top", rate("rival"), value=RIVAL_RATE * top),
        b.claim("bottom", rate("ours"), value=OURS_RATE * bottom),
    )


class TestRatiosOfClaims:
    """A ratio stands no better than the worse of the two figures it is formed from."""

    def test_a_ratio_of_times_has_nothing_of_its_parts_figures(self) -> None:
        times = b.TIMES_MS["ours"] / b.TIMES_MS["rival"]
        gap = judged(gap_of(times, flops="2 * m * n * k"), *parts_of(3, 3))[0]
        assert gap.status is Status.REPRODUCED

    def test_an_order_is_a_statement_of_its_own(self) -> None:
        faster = gap_of(1.0).model_copy(update={"relation": Relation.AT_LEAST})
        found = judged(faster, *parts_of(3, 3))[0]
        assert found.status is Status.REPRODUCED
        assert " or more: the whole interval is at least that figure." in found.explanation

    def test_a_bound_of_more_than_an_order_is_no_better_than_its_parts(self) -> None:
        least = gap_of(GAP * 0.8).model_copy(update={"relation": Relation.AT_LEAST})
        found = judged(least, *parts_of(3, 3))[0]
        assert (found.status, found.why) == (Status.NOT_REPRODUCED, Why.PART_MISSED)

    def test_while_a_part_is_open_it_does_not_fail_for_certain(self) -> None:
        absent = rate("attention", comparison="attend")
        gone = reading("gone", differs="unstated", evaluation=absent)
        top = b.claim("top", rate("rival"), value=RIVAL_RATE * 3, reading="plain", readings=(gone,))
        own = reading("own", evaluation=quotient())
        gap = gap_of(GAP * 3).model_copy(update={"reading": "plain", "readings": (own,)})
        found = judged(gap, top, b.claim("bottom", rate("ours"), value=OURS_RATE))[0]
        assert (found.status, found.why) == (Status.INCONCLUSIVE, Why.READING_MISSING)
        assert "a ratio is no surer than the figures" in found.explanation

    def test_a_worse_verdict_of_its_own_stays(self) -> None:
        gap = judged(gap_of(GAP * 5), *parts_of(1.08, 1))[0]
        assert gap.status is Status.NOT_REPRODUCED
        assert gap.reason is None

    def test_what_is_open_by_itself_is_too_uncertain(self) -> None:
        few = b.benchmark(processes=4)
        for each in judged(gap_of(GAP), *parts_of(1, 1), benchmarks=[few]):
            assert (each.status, each.reason) == (Status.INCONCLUSIVE, "too_few_processes")
            assert each.why is Why.TOO_UNCERTAIN

    def test_where_a_part_is_open_so_is_it(self) -> None:
        top, _ = parts_of(1.08, 1)
        bottom = read(WHOLE, value=OURS_RATE / DENSITY).model_copy(update={"id": "bottom"})
        whole = judged(gap_of(GAP * DENSITY), top, bottom)[0].readings[1]
        assert whole.holds is None
        assert whole.reason is not None and "top is open" in whole.reason

    @pytest.mark.parametrize(
        ("counted", "status"), [(1, Status.INCONCLUSIVE), (2, Status.MISSTATED)]
    )
    def test_a_count_that_both_sides_share_cancels(self, counted: int, status: Status) -> None:
        """The top counts each operation twice; the bottom twice as well, or four times."""
        twice = reading("run", evaluation=rate("rival"), flops="4 * m * n * k")
        alike = reading("run", flops=f"{counted} * m * n * k")
        top, bottom = (
            read(each, value=value).model_copy(update={"id": name})
            for name, each, value in [
                ("top", twice, 2 * RIVAL_RATE),
                ("bottom", alike, 2 * counted * OURS_RATE),
            ]
        )
        assert judged(gap_of(GAP / counted), top, bottom)[0].status is status

    def test_nor_is_one_whose_part_lacks_a_reading(self) -> None:
        """The ratio fits. One part is misstated; under a reading of the other both may hold."""
        absent = rate("attention", comparison="attend")
        gone = reading("gone", differs="unstated", evaluation=absent)
        top = b.claim("top", rate("rival"), value=RIVAL_RATE * 3, reading="plain", readings=(gone,))
        bottom = read(WHOLE, value=OURS_RATE / DENSITY).model_copy(update={"id": "bottom"})
        found = judged(gap_of(GAP), top, bottom)
        assert [each.status for each in found] == [
            Status.INCONCLUSIVE,
            Status.INCONCLUSIVE,
            Status.MISSTATED,
        ]

    @pytest.mark.parametrize("metric", [Metric.RATE, Metric.TIME])
    def test_where_neither_figure_falls_short_what_it_is_held_against_got_faster(self, metric):
        """A rate is held against the lower figure of a quotient, a time against the upper."""
        if metric is Metric.TIME:
            unit, worse, held = Unit.MS, 3.0, b.TIMES_MS
        else:
            unit, worse, held = Unit.TFLOP_PER_S, 1 / 3, {"ours": OURS_RATE, "rival": RIVAL_RATE}
        fast, slow = ("bottom", "top") if metric is Metric.TIME else ("top", "bottom")
        parts = [
            b.claim(name, rate(arm).model_copy(update={"metric": metric}), value=value, unit=unit)
            for name, arm, value in (
                (fast, "ours", held["ours"]),
                (slow, "rival", held["rival"] * worse),
            )
        ]
        gap = held["rival"] / held["ours"] if metric is Metric.TIME else 1 / GAP
        found = judged(gap_of(gap * 3), *parts)[0]
        assert (found.status, found.why) == (Status.NOT_REPRODUCED, Why.COMPARATOR_FASTER)


class TestElsewhere:
    """A figure of another GPU than the claim names is shown with what it would be, not judged."""

    L4 = Hardware(target="l4", as_stated="L4")

    def test_it_says_what_it_would_be(self) -> None:
        (verdict,) = judged(b.claim("rate", rate("ours"), value=OURS_RATE, hardware=self.L4))
        assert (verdict.status, verdict.as_if) == (Status.ELSEWHERE, Status.REPRODUCED)
        assert verdict.target == "h100"
        assert verdict.measured == pytest.approx(OURS_RATE, rel=0.02)
        assert verdict.measured_on.product == "NVIDIA H100"


class TestCauses:
    """Every verdict that does not plainly hold names its cause as a code."""

    def test_which_version_was_imported_is_said_wherever_it_lay(self) -> None:
        gate = b.correctness()
        arms = [arm.model_copy(update={"packages": {"Block_Kernels": "0.7"}}) for arm in gate.arms]
        record = gate.model_copy(update={"arms": tuple(arms)})
        variants = b.variants()
        variants["cublas"] = variants["cublas"].model_copy(update={"package": "block-kernels"})
        claim = b.claim("rate", rate("rival"), value=RIVAL_RATE)
        for checks, told in (([record], "block-kernels 0.7: "), ([gate], "(none is recorded)")):
            answers = [b.measure("rate", "h100")]
            evidence = b.evidence(answers, benchmarks=[b.benchmark()], checks=checks)
            (verdict,) = judge(b.catalog([claim], variants=variants), evidence).verdicts
            assert told in verdict.explanation

    def test_a_cause_that_another_gpu_showed_is_the_figures_and_says_where(self) -> None:
        absent = Answer(
            claim="rate", target="h100", way="not_run", reason=NotRun.NO_DEVICE, detail="No GPU."
        )
        lacking = b.correctness(statuses={"ours": "unsupported"}, on="l4")
        evidence = b.evidence([absent, b.measure("rate", "l4")], checks=[lacking])
        there, here = judge(b.catalog([b.claim("rate", rate("ours"))]), evidence).verdicts
        assert (there.reason, there.why, there.why_on) == ("no_device", Why.NOT_IN_BUILD, "l4")
        assert (here.why, here.why_on) == (Why.NOT_IN_BUILD, None)

    @pytest.mark.parametrize(
        ("cuda", "driver", "told"),
        [
            (
                "12.4.131",
                "575.57.08",
                "CUDA 13.0 and driver 580.0; the source states CUDA 12.4.131",
            ),
            ("13.0.2", "580.0", ""),
            (
                "13.0.2",
                "575.57.08",
                "It ran with driver 580.0; the source states driver 575.57.08.",
            ),
        ],
    )
    def test_another_cuda_or_driver_than_stated_is_said(self, cuda, driver, told):
        software = {"cuda": cuda, "driver": driver}
        (verdict,) = judged(b.claim("rate", rate("ours"), value=OURS_RATE, software=software))
        assert told in verdict.explanation
        assert ("It ran with" in verdict.explanation) == bool(told)
