"""The words of verdicts beyond their status: remedies, shared measurements, modes, pairing."""

import re
from typing import Any

import pytest

from assay.judging import decision
from assay.records.claims import Claim, ClaimKind, Relation
from assay.records.measurements import BenchmarkRecord
from assay.records.units import Unit
from assay.records.verdicts import Status, Verdict
from assay.statistics.summaries import Summary
from tests import builders as b
from tests.judging.asked import OURS_RATE, judged, quotient, rate


def one(claim: Claim, record: BenchmarkRecord, **changes: Any) -> Verdict:
    return judged(claim, benchmarks=[record], catalog=changes)[0]


WIDE = {"judging": b.judging(ratio_margin=0.5)}
"""A margin for ratios, so that a noisy A/A control does not decide before the interval does."""


class TestRemedies:
    """An inconclusive verdict says what would have decided it."""

    def test_the_proposed_margin_would_have_decided_it(self) -> None:
        claim, record = b.claim("rate", rate(), value=OURS_RATE), b.benchmark(process_sd=0.12)
        text = one(claim, record, **WIDE).explanation
        proposed = re.search(r"a margin of ([\d.]+) % or more, declared before a new run", text)
        margin = float(proposed[1]) / 100
        wider = {"judging": b.judging(ratio_margin=0.5, absolute_margin=margin)}
        tighter = {"judging": b.judging(ratio_margin=0.5, absolute_margin=margin - 0.002)}
        assert one(claim, record, **wider).status is Status.REPRODUCED
        found = one(claim, record, **tighter)
        assert (found.status, found.reason) == (Status.INCONCLUSIVE, "interval_too_wide")

    def test_at_the_very_edge_no_number_of_processes_is_proposed(self) -> None:
        summary = Summary(0.0799, 0.02, 0.14, 5, 20, 400, 0, spread=0.06)
        text = decision._two_sided_remedy(summary, 1.0, 0.08, b.judging())
        assert "nothing short of 100 processes" in text
        assert "about" not in text

    def test_a_biased_control_asks_for_a_quieter_machine_not_for_processes(self) -> None:
        claim = b.claim("ratio", rate(over="rival"), value=1.0, resolution=1e-9, unit=Unit.RATIO)
        found = one(claim, b.benchmark(control_bias=0.07))
        assert found.reason == "margin_below_noise_floor"
        assert "noise floor below 5 %" in found.explanation
        assert "fresh processes" not in found.explanation

    def test_a_scattering_control_asks_for_processes_too(self) -> None:
        claim = b.claim("ratio", rate(over="rival"), value=1.0, unit=Unit.RATIO)
        found = one(claim, b.benchmark(process_sd=0.25))
        assert found.reason == "margin_below_noise_floor"
        assert "fresh processes that scatter like these 5" in found.explanation

    def test_a_one_sided_figure_inside_the_noise_floor_is_undecided(self) -> None:
        """5 % above the figure is no gain where a binary differs from itself by 6 %."""
        claim = b.claim("rate", rate(), value=OURS_RATE / 1.05, relation=Relation.AT_LEAST)
        noisy = one(claim, b.benchmark(control_bias=0.06))
        assert (noisy.status, noisy.reason) == (Status.INCONCLUSIVE, "within_noise_floor")
        assert "a quieter machine" in noisy.explanation
        assert one(claim, b.benchmark()).status is Status.REPRODUCED


def test_a_bimodal_figure_is_shown_with_both_groups() -> None:
    record = b.benchmark(process_sd=0.001, block_sd=0.001)
    slow = b.with_turns(
        record,
        lambda process, turn: turn.model_copy(
            update={
                "times_ms": tuple((1.05 if process in (1, 3) else 1) * t for t in turn.times_ms)
            }
        ),
    )
    claim = b.claim("rate", rate(), value=OURS_RATE)
    assert "Bimodal: 60.0 % of the processes lie near 57" in one(claim, slow).explanation
    assert "Bimodal" not in one(claim, record).explanation
    paired = b.claim("ratio", rate(over="rival"), value=1.0, unit=Unit.RATIO)
    assert "Bimodal" not in one(paired, slow).explanation


class TestPairing:
    def gap(self, comparison: str) -> Verdict:
        top = rate("ours" if comparison == "duel" else "attention", comparison=comparison)
        claims = [
            b.claim("gap", quotient(), value=1.0, unit=Unit.RATIO, kind=ClaimKind.RATIO),
            b.claim("top", top),
            b.claim("bottom", rate("rival")),
        ]
        attend = b.benchmark(
            {"attention": 0.02}, comparison="attend", control="attention", process_sd=0.03
        )
        checks = [b.correctness(), b.correctness(("attention",), comparison="attend")]
        records = {"benchmarks": [b.benchmark(process_sd=0.03), attend], "checks": checks}
        return judged(*claims, catalog=WIDE, **records)[0]

    def test_two_arms_of_one_comparison_are_paired(self) -> None:
        """The drift that both arms share cancels, as in a claim that names the ratio itself."""
        found = self.gap("duel")
        claim = b.claim("ratio", rate(over="rival"), value=1.0, unit=Unit.RATIO)
        direct = one(claim, b.benchmark(process_sd=0.03), **WIDE)
        assert found.ci90 == pytest.approx(direct.ci90)
        assert "ran in the same blocks" in found.explanation

    def test_arms_of_two_comparisons_are_not(self) -> None:
        found = self.gap("attend")
        assert found.ci90[1] / found.ci90[0] > 1.04
        assert "measured apart" in found.explanation
