"""A source's own program from a checkout: it decides, and what is rebuilt stands beside it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from assay.base.errors import BadInput
from assay.catalog.model import Catalog
from assay.catalog.references import check_references
from assay.judging.judge import judge
from assay.records.arithmetic import SourcePlace
from assay.records.claims import Claim
from assay.records.evaluations import AS_TYPED, PRIMARY, Reading
from assay.records.originals import (
    CheckoutCopy,
    FigurePattern,
    GivenLine,
    LineRun,
    OriginalRunRecord,
    OriginalSource,
    TypedLine,
)
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict, Why
from tests import builders as b
from tests.judging.asked import OURS_RATE, quotient, rate

PLACE = SourcePlace(section="Files", line=9)


def figure(claim: str, **changes: Any) -> FigurePattern:
    values: dict[str, Any] = {"claim": claim, "pattern": "{value} TFLOPS", "unit": Unit.TFLOP_PER_S}
    return FigurePattern(**{**values, **changes})


def own(*figures: FigurePattern) -> OriginalSource:
    build = TypedLine(line="nvcc winner.cu", place=PLACE, lacks="the name of the binary")
    return OriginalSource(
        id="winner", file="winner.cu", place=PLACE, build=build, run=None, figures=figures
    )


def catalog(claims: Sequence[Claim], original: OriginalSource) -> Catalog:
    made = b.catalog(claims)
    paper = made.sources["paper"].model_copy(update={"original": original})
    return replace(made, sources={"paper": paper})


def line(stdout: str, code: int = 0, stderr: str = "") -> LineRun:
    return LineRun(exit_code=code, seconds=1.0, stdout=stdout, stderr=stderr, cut=False)


def record(*runs: LineRun, build: LineRun | None = None) -> OriginalRunRecord:
    return OriginalRunRecord(
        schema="assay/original_run/1", source="paper", original="winner", target="h100",
        gpu_uuid=b.GPU, recorded_at="2026-11-22T06:00:00Z", file="winner.cu", file_sha256="b" * 64,
        checkout=CheckoutCopy(files=1, bytes=1, sha256="c" * 64), compiler=line("V13.0"),
        build_line=GivenLine(line="nvcc winner.cu -o winner", by="user"), build=build or line(""),
        run_line=GivenLine(line="./winner", by="user"), runs=runs,
    )  # fmt: skip


def printing(*rates: float) -> OriginalRunRecord:
    return record(*(line(f"warm-up\n{rate:.1f} TFLOPS\n") for rate in rates))


RATES = (606.0, 607.0, 608.0, 607.0, 606.5, 607.5, 607.0)


def judged(claims, found, *figures):
    given = b.evidence(
        [b.measure(claim.id) for claim in claims],
        benchmarks=[b.benchmark()],
        checks=[b.correctness()],
    )
    if found is not None:
        given = replace(given, originals={("h100", "winner"): found})
    described = own(*(figures or (figure("rate"),)))
    return {v.claim: v for v in judge(catalog(claims, described), given).verdicts}


class TestItDecides:
    """Its figure is the primary one, and the rebuilt one is a reading beside it."""

    def test_what_the_line_as_typed_prints_is_a_reading_where_another_line_ran(self) -> None:
        typed = {"typed_line": GivenLine(line="./winner -q", by="source"),
                 "typed_runs": printing(*(value * 2 for value in RATES)).runs}  # fmt: skip
        found = printing(*RATES).model_copy(update=typed)
        verdict = judged([b.claim("rate", rate(), value=1214.0)], found)["rate"]
        reading = next(each for each in verdict.readings if each.id == AS_TYPED)
        assert reading.measured == pytest.approx(1214.0, rel=0.01)
        assert (verdict.status, verdict.why) == (Status.MISSTATED, Why.OTHER_PROBLEM)
        assert "./winner -q" in reading.says

    def test_a_gain_in_per_cent_is_the_ratio_that_a_claim_of_it_is(self) -> None:
        gains = record(*(line(f"{gain} %\n") for gain in (24.9, 25.0, 25.1, 25.0, 25.0)))
        ratio = rate(over="rival")
        printed = figure("gain", pattern="{value} %", unit=Unit.PERCENT)
        for value, status in ((25.0, Status.REPRODUCED), (40.0, Status.NOT_REPRODUCED)):
            claim = b.claim("gain", ratio, value=value, unit=Unit.PERCENT, flop_formula=None)
            verdict = judged([claim], gains, printed)["gain"]
            assert (verdict.status, verdict.measured) == (status, pytest.approx(25.0))

    def test_where_it_falls_short_the_original_itself_does(self) -> None:
        verdict = judged([b.claim("rate", rate(), value=900.0)], printing(*RATES))["rate"]
        assert (verdict.status, verdict.why) == (Status.NOT_REPRODUCED, Why.ORIGINAL_SLOWER)

    def test_a_comparators_line_is_not_taken_for_its_own(self) -> None:
        """Several figures that differ are none."""
        runs = record(*[line("cuBLAS: ~840 TFLOPS\nOurs: ~607 TFLOPS\n")] * 5)
        verdict = judged([b.claim("rate", b.unanswerable(), value=607.0)], runs)["rate"]
        assert verdict.status is Status.NOT_RUN
        assert "several figures at '{value} TFLOPS' (840, 607)" in verdict.explanation


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (record(build=line("", 2, "winner.cu(3): error: no such thing")), "error: no such"),
        (record(*[line("", 7, "no GPU")] * 3), "run 1 ended with exit code 7: no GPU"),
        (record(*[line("fast\n")] * 3), "printed nothing that '{value} TFLOPS' finds"),
        (printing(607.0), "ran only once"),
        (
            record(*[line("607 TFLOPS\n").model_copy(update={"cut": True})] * 3),
            "run 1 printed more than is kept",
        ),
    ],
)
def test_where_it_gives_no_figure_what_is_rebuilt_decides(
    found: OriginalRunRecord, words: str
) -> None:
    claim = b.claim("rate", rate(), value=OURS_RATE)
    verdict = judged([claim], found)["rate"]
    assert (verdict.status, verdict.artifact) == (Status.REPRODUCED, "reimplemented")
    assert words in verdict.explanation
    assert "evidence/h100/original/winner.json.gz" in verdict.evidence


class TestItCountsOtherwise:
    """Where the claim says by which reading the program counts, its figure is no work done."""

    whole = Reading(
        id="whole", says="all of it", differs="work", evaluation=rate(), flops="2 * m * n * k"
    )

    def claim(self, value: float) -> Claim:
        return b.claim("rate", rate(), value=value, reading="stored", readings=(self.whole,))

    def verdict(self, value: float, found: OriginalRunRecord | None) -> Verdict:
        return judged([self.claim(value)], found, figure("rate", counts="whole"))["rate"]

    def test_what_it_prints_is_a_reading(self) -> None:
        verdict = self.verdict(OURS_RATE / 3, printing(*(OURS_RATE / 3,) * 5))
        assert (verdict.status, verdict.why) == (Status.MISSTATED, Why.OTHER_WORK)
        assert verdict.artifact == "reimplemented"
        assert [reading.id for reading in verdict.readings] == [PRIMARY, "whole", "original"]
        primary, _, printed = verdict.readings
        assert primary.measured == pytest.approx(OURS_RATE, rel=0.02)
        assert (primary.holds, printed.holds) == (False, True)
        assert "all of it" in printed.says
        assert "evidence/h100/original/winner.json.gz" in verdict.evidence

    def test_what_it_leaves_open_a_rebuild_does_not_settle(self) -> None:
        printed = OURS_RATE / 0.25 / 1.08  # the edge of the margin
        verdict = self.verdict(
            OURS_RATE / 0.25, printing(*(printed * f for f in (0.98, 0.99, 1.0, 1.01, 1.02)))
        )
        assert [reading.holds for reading in verdict.readings] == [False, True, None]
        assert (verdict.status, verdict.why) == (Status.INCONCLUSIVE, Why.READING_MISSING)

    def test_without_it_the_verdict_says_what_it_would_give(self) -> None:
        words = self.verdict(OURS_RATE, None).explanation
        assert "With a checkout of it, what it prints is a reading too: --original paper" in words

    def test_a_build_with_other_settings_that_did_not_run_could_change_the_verdict(self) -> None:
        claim = self.claim(9000.0)
        described = own(figure("rate", counts="whole")).model_copy(update={"defines": {"BK": 96}})
        given = b.evidence(
            [b.measure("rate")], benchmarks=[b.benchmark()], checks=[b.correctness()]
        )
        (verdict,) = judge(catalog([claim], described), given).verdicts
        assert (verdict.status, verdict.why) == (Status.INCONCLUSIVE, Why.READING_MISSING)
        assert verdict.readings[-1].reason is not None
        assert "-DBK=96" in verdict.readings[-1].reason

    def test_what_it_prints_is_a_reading_of_a_ratio_too(self) -> None:
        """Beside it stands the other side as it is by the reading that the program counts by."""
        twice = Reading(
            id="whole",
            says="twice",
            differs="work",
            evaluation=rate("rival"),
            flops="4 * m * n * k",
        )
        other = b.claim("other", rate("rival"), value=100.0, reading="stored", readings=(twice,))
        gap = b.claim(
            "gap", quotient("rate", "other"), value=9.0, unit=Unit.RATIO, flop_formula=None
        )
        claims = [gap, self.claim(OURS_RATE), other]
        found = judged(claims, printing(*(600.0,) * 5), figure("rate", counts="whole"))
        readings = {reading.id: reading for reading in found["gap"].readings}
        counted = next(r for r in found["other"].readings if r.id == "whole").measured
        assert readings["original"].measured == pytest.approx(600.0 / counted, rel=0.01)

    def test_the_reading_must_be_one_of_the_claims(self) -> None:
        described = own(figure("rate", counts="other"))
        with pytest.raises(BadInput, match="claim 'rate': has no reading 'other'"):
            check_references(catalog([self.claim(1.0)], described))


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ((figure("none"),), "there is no claim 'none'"),
        ((figure("rate", unit=Unit.MS),), "is in TFLOP/s, and its program prints ms"),
        ((figure("gain"),), "is not answered by a measurement"),
    ],
)
def test_the_catalog_refuses_figures_that_answer_nothing(figures, words):
    claims = [b.claim("rate", rate()), b.claim("gain", quotient("rate", "rate"), unit=Unit.RATIO)]
    with pytest.raises(BadInput, match=words):
        check_references(catalog(claims, own(*figures)))
