"""Workload records, and what the comparisons of this repository pair with each other."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.records.evaluations import Benchmark
from assay.records.workloads import Workload
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

    def test_attention_has_no_such_form(self) -> None:
        with pytest.raises(ValidationError, match="dense_attention has no float8_e4m3 form"):
            changed("attention", dtype="float8_e4m3")

    def test_rows_of_a_k_major_operand_are_aligned(self) -> None:
        with pytest.raises(ValidationError, match="k must be a multiple of 16"):
            changed("dense", dtype="float8_e4m3", k=4100)


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


class TestReadingsOnly:
    """Programs that are wrong by nature, and values that nobody wrote, answer readings alone."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        shutil.copytree(ROOT / "config", tmp_path / "config")
        for manifest in (ROOT / "kernels").glob("*/kernel.yaml"):
            (tmp_path / "kernels" / manifest.parent.name).mkdir(parents=True)
            shutil.copy(manifest, tmp_path / "kernels" / manifest.parent.name)
        return tmp_path

    @staticmethod
    def edit(tree: Path, path: str, old: str, new: str) -> None:
        text = (tree / path).read_text(encoding="utf-8")
        assert old in text
        (tree / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    def test_unwritten_values_must_be_marked_as_well(self, tree: Path) -> None:
        self.edit(
            tree,
            "config/workloads/bsr_gemm.yaml",
            "id: bsr_bsr_128x128x32_f32\n    operation: bsr_bsr_gemm\n    dtype: float16\n"
            "    output_dtype: float32\n    distribution: normal",
            "id: bsr_bsr_128x128x32_f32\n    operation: bsr_bsr_gemm\n    dtype: float16\n"
            "    output_dtype: float32\n    distribution: unwritten",
        )
        with pytest.raises(BadInput, match="must be reading_only, for its values are never"):
            load_catalog(tree)

    def test_nothing_is_held_against_it(self, tree: Path) -> None:
        self.edit(
            tree,
            "config/claims/002.yaml",
            "{comparison: bsr_bsr_stages, arm: cublas, over: stage3}",
            "{comparison: bsr_bsr_as_run, arm: stage1, over: stage2}",
        )
        with pytest.raises(BadInput, match="holds 'stage1' against arm 'stage2'"):
            load_catalog(tree)

    def test_a_kernel_writes_the_output_that_its_problem_has(self, tree: Path) -> None:
        self.edit(
            tree,
            "config/comparisons/readings.yaml",
            "{id: stage0_f32, variant: bsr_bsr_stage0_f32, workload: bsr_bsr_128x128x32_f32}",
            "{id: stage0_f32, variant: bsr_bsr_stage0_f32, workload: bsr_bsr_128x128x32}",
        )
        with pytest.raises(BadInput, match=r"'stage0_f32' writes float32, and .* wants float16"):
            load_catalog(tree)
