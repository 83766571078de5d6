"""Workload records, and what the comparisons of this repository pair with each other."""

from pathlib import Path

from assay.catalog.model import Catalog
from assay.records.evaluations import Benchmark

ROOT = Path(__file__).resolve().parents[2]


class TestComparisons:
    def test_arms_of_one_comparison_have_one_type(self, catalog: Catalog) -> None:
        """A ratio of rates in different types would compare tensor cores, not kernels."""
        for comparison in catalog.comparisons.values():
            types = {catalog.workloads[arm.workload].dtype for arm in comparison.arms}
            assert len(types) == 1, comparison.id

    def test_ratios_to_a_dense_rival_are_of_one_size(self, catalog: Catalog) -> None:
        for claim in catalog.sources["assay"].claims:
            for term in claim.evaluation.terms:
                arms = {arm.id: arm for arm in catalog.comparisons[term.comparison].arms}
                mine, theirs = (
                    catalog.workloads[arms[name].workload] for name in (term.arm, term.over)
                )
                sizes = [(w.m, w.n, w.k, w.seq_q, w.head_dim) for w in (mine, theirs)]
                assert sizes[0] == sizes[1], claim.id

    def test_an_arm_runs_the_problem_that_its_variant_is_for(self, catalog: Catalog) -> None:
        for comparison in catalog.comparisons.values():
            for arm in comparison.arms:
                variant, workload = catalog.variants[arm.variant], catalog.workloads[arm.workload]
                assert variant.operation is workload.operation, (comparison.id, arm.id)
                assert variant.output_dtype == workload.output_dtype, (comparison.id, arm.id)

    def test_what_is_wrong_by_nature_or_unwritten_is_for_readings_only(self, catalog):
        for comparison in catalog.comparisons.values():
            for arm in comparison.arms:
                workload = catalog.workloads[arm.workload]
                searched = workload.pattern_b and workload.pattern_b.kind in ("drawn", "mt19937")
                if searched or workload.distribution == "unwritten":
                    assert arm.reading_only, (comparison.id, arm.id)

    def test_no_claim_rests_on_an_arm_for_readings(self, catalog: Catalog) -> None:
        for claim in catalog.claims.values():
            if not isinstance(claim.evaluation, Benchmark):
                continue
            for term in claim.evaluation.terms:
                arms = {arm.id: arm for arm in catalog.comparisons[term.comparison].arms}
                assert not arms[term.arm].reading_only, claim.id

    def test_a_choice_is_an_arm_of_its_sweep_and_built_for_its_target(self, catalog):
        assert {choice.target for choice in catalog.tuning.choices} <= catalog.targets.keys()
        for target in catalog.targets:
            for choice in catalog.choices_to_hold(target):
                of = catalog.comparisons[choice.evidence.comparison].arm(choice.evidence.arm)
                assert of.variant == choice.variant, choice.id
                assert catalog.targets[target].arch in catalog.variants[of.variant].archs
                pattern = catalog.workloads[of.workload].pattern
                blocks = pattern.block_rows, pattern.block_cols
                assert blocks == (choice.block_rows, choice.block_cols), choice.id
