"""What units of work took, and what a box of GPUs makes of that."""

from pathlib import Path

import pytest
from tools.gpu_costs import benchmark_stage, collect, merge

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.judging.needs import measured_together
from assay.pipeline.gpu_places import COSTS
from assay.records.gpu_costs import GpuCost, GpuCosts
from assay.verification.report_archive import opened_report

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / COSTS


class TestThePublishedDurations:
    """By the schedule that a run uses, and what each comparison took on record."""

    @pytest.mark.parametrize("target", ["h100", "h200"])
    def test_two_gpus_are_18_times_as_fast_and_eight_65_times(self, target: str) -> None:
        costs = read_record(GpuCosts, PUBLISHED)
        stages = benchmark_stage(load_catalog(ROOT), costs, target)
        alone = stages[0].seconds
        gain = {stage.gpus: alone / stage.seconds for stage in stages}
        assert gain[1] == 1
        assert gain[2] >= 1.8
        assert gain[8] >= 6.5
        assert min(stages[-1].busy) >= 0.7, "none of eight is idle for long"

    def test_a_ratio_of_two_comparisons_keeps_them_together(self) -> None:
        catalog = load_catalog(ROOT)
        ties = measured_together(catalog, [catalog.claims["s000_phase2_gain"]])
        assert ties == [{"bsr_gemm_stages", "sparse_attention_8k_d64"}]


class TestCosts:
    """What is collected, and kept."""

    def test_what_only_the_old_knows_stays(self) -> None:
        def costs(**seconds: float) -> GpuCosts:
            return GpuCosts(
                schema="assay/gpu_costs/1",
                start_seconds=1.0,
                costs=tuple(
                    GpuCost(target="h100", unit=unit, gate_seconds=0.0, seconds=took)
                    for unit, took in seconds.items()
                ),
            )

        merged = merge(costs(a=1, b=2), costs(b=3, c=4))
        assert {cost.unit: cost.seconds for cost in merged.costs} == {"a": 1, "b": 3, "c": 4}

    def test_of_no_report_there_are_none(self) -> None:
        with pytest.raises(BadInput, match="no report holds a benchmark"):
            collect(load_catalog(ROOT), [])

    @pytest.mark.parametrize("order", [1, -1])
    def test_optional_rivals_with_tuners_cost_those_who_have_none_nothing(self, order: int) -> None:
        """The newer of the two was measured with torchao, whose own tuner took 75 s."""
        evidences = []
        for name in ("h200_20261123_rivals", "h200_20261123_bsr")[::order]:
            with opened_report(ROOT / "reports" / "published" / f"{name}.tar.xz") as folder:
                evidences.append(load_evidence(folder / "evidence"))
        took = {
            evidence.plan.run: evidence.benchmarks["h200", "bsr_rivals"].seconds
            for evidence in evidences
        }
        costs = collect(load_catalog(ROOT), evidences)
        (cost,) = (cost for cost in costs.costs if cost.unit == "bsr_rivals")
        assert cost.seconds == took["h200_20261123_rivals"] < took["h200_20261123_bsr"] - 70
