"""Workload records, and what the comparisons of this repository pair with each other."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.records.evaluations import Benchmark
from assay.records.workloads import Operation, Workload
from tests import builders as b

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


def changed(name: str, **changes: Any) -> Workload:
    values = b.workloads()[name].model_dump(exclude_none=True)
    return Workload.model_validate({**values, **changes}, strict=False)


class TestFp8:
    """8-bit operands are for products with a dense B."""

    @pytest.mark.parametrize("name", ["sparse", "dense"])
    def test_products_with_a_dense_b_take_it(self, name: str) -> None:
        assert changed(name, dtype="float8_e4m3").dtype == "float8_e4m3"

    def test_attention_has_no_such_form(self) -> None:
        with pytest.raises(ValidationError, match="dense_attention has no float8_e4m3 form"):
            changed("attention", dtype="float8_e4m3")

    def test_rows_of_a_k_major_operand_are_aligned(self) -> None:
        with pytest.raises(ValidationError, match="k must be a multiple of 16"):
            changed("dense", dtype="float8_e4m3", k=4100)

    def test_other_names_are_refused(self) -> None:
        with pytest.raises(ValidationError):
            changed("dense", dtype="float8_e5m2")


class TestComparisons:
    def test_arms_of_one_comparison_have_one_type(self, catalog: Catalog) -> None:
        """A ratio of rates in different types would compare tensor cores, not kernels."""
        for comparison in catalog.comparisons.values():
            types = {catalog.workloads[arm.workload].dtype for arm in comparison.arms}
            assert len(types) == 1, comparison.id

    def test_ratios_to_a_dense_rival_are_of_one_size(self, catalog: Catalog) -> None:
        for claim in catalog.sources["assay"].claims:
            assert isinstance(claim.evaluation, Benchmark)
            for term in claim.evaluation.terms:
                arms = {arm.id: arm for arm in catalog.comparisons[term.comparison].arms}
                assert term.over is not None
                mine, theirs = (
                    catalog.workloads[arms[name].workload] for name in (term.arm, term.over)
                )
                sizes = [(w.m, w.n, w.k, w.seq_q, w.head_dim) for w in (mine, theirs)]
                assert sizes[0] == sizes[1], claim.id

    def test_the_sweep_is_the_list_that_its_claim_names(self, catalog: Catalog) -> None:
        evaluation = catalog.claims["bsr_gemm_sweep_vs_cublas"].evaluation
        assert isinstance(evaluation, Benchmark)
        shapes = set()
        for term in evaluation.terms:
            arms = {arm.id: arm for arm in catalog.comparisons[term.comparison].arms}
            workload = catalog.workloads[arms[term.arm].workload]
            pattern = workload.pattern
            assert workload.operation is Operation.BSR_GEMM
            assert pattern is not None
            size = (pattern.block_rows, pattern.block_cols)
            shapes.add((pattern.kind, size, pattern.blocks_per_row, workload.n))
        square = (128, 128)
        assert shapes == {
            ("random", square, 8, 8192),
            ("random", square, 32, 8192),
            ("random", square, 64, 8192),
            ("random", (64, 64), 32, 8192),
            ("ragged", square, 16, 8192),
            ("random", square, 16, 1024),
            ("random", square, 16, 4096),
            ("random", square, 16, 16384),
        }

    def test_bfloat16_and_fp8_leave_room_for_the_rounding_of_their_result(
        self, catalog: Catalog
    ) -> None:
        rounding = 1.7e-3  # of bfloat16, relative Frobenius error
        for workload in catalog.workloads.values():
            if workload.dtype != "float16":
                assert 2 * rounding < workload.relative_tolerance < 2e-2, workload.id
