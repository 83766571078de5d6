"""What a unit of work is expected to take, and what two GPUs make of such expectations."""

from pathlib import Path

import pytest

from assay.base.io import write_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.pipeline.gpu_places import COSTS, GpuPlaces, read_costs
from assay.pipeline.plan import make_plan
from assay.pipeline.unit_seconds import expected_seconds, guessed_seconds
from assay.records.gpu_costs import GpuCost
from tests.library_checkout import REPOSITORY
from tests.report_fixtures import make_request, provision

GPUS = ("GPU-0", "GPU-1")
CLAIMS = (
    "bsr_gemm_vs_cublas", "bsr_gemm_vs_torch_bsr", "bsr_gemm_mma_vs_cublas", "bsr_bsr_vs_cublas",
    "bsr_gemm_fp8_vs_scaled_mm", "bsr_gemm_sweep_vs_cublas", "bsr_gemm_bf16_vs_cublas",
    "bsr_gemm_bf16_128x64_vs_cublas", "bsr_gemm_bf16_64x64_vs_cublas",
    "bsr_gemm_vs_torch_bsr_tuned", "bsr_gemm_64_vs_torch_bsr_tuned", "block_sparse_layers_vs_dense",
)  # fmt: skip
NEW = {
    "bsr_rivals": 65.7, "bsr_rivals_bf16": 28.6, "layers_few_tokens": 13.2,
    "layers_many_tokens": 24.3, "bsr_gemm_tuning_bf16": 14.6, "bsr_gemm_tuning_64x64_bf16": 11.7,
    "bsr_gemm_tuning_128x64": 14.8, "bsr_gemm_tuning_128x64_bf16": 15.2, "bsr_bsr_tuning": 14.2,
}  # fmt: skip
"""What comparisons took on two H200s that had never run before."""
TAKEN = NEW | {
    "bsr_gemm_128": 59.6, "bsr_gemm_mma_tiles": 31.5, "bsr_gemm_bf16": 29.1,
    "bsr_gemm_bf16_blocks": 18.8, "bsr_gemm_fp8": 14.5, "bsr_bsr_128": 15.3,
    "bsr_gemm_sweep": 34.8, "bsr_gemm_widths": 27.9, "bsr_gemm_tuning_wide": 20.6,
    "bsr_gemm_tuning_narrow": 15.6, "bsr_gemm_tuning_ragged": 17.4, "bsr_gemm_tuning_64x64": 17.5,
    "bsr_gemm_tuning_64x64_narrow": 18.2, "bsr_gemm_tuning_64x64_ragged": 17.3,
    "bsr_gemm_tuning_fp8": 12.5,
}  # fmt: skip
"""The same of all that ran there, 12 claims and 12 sweeps: seconds of its processes."""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(REPOSITORY)


def placed(catalog: Catalog, root: Path, known: set[str]) -> dict[str, str]:
    """The GPU of each comparison of that run, where only ``known`` ones have a recorded cost."""
    costs = read_costs(REPOSITORY)
    kept = tuple(cost for cost in costs.costs if cost.unit in known)
    write_record(costs.model_copy(update={"costs": kept}), root / COSTS)
    asked = make_request("box", [provision("h200", gpus=GPUS)], sorted(catalog.sources))
    plan = make_plan(catalog, asked.model_copy(update={"claims": CLAIMS, "tuning": True}))
    (target,) = plan.targets
    return GpuPlaces(root, catalog, plan, target).place(GPUS, {})


@pytest.mark.parametrize("known", [TAKEN.keys() - NEW.keys(), set[str]()], ids=["some", "none"])
def test_two_gpus_are_done_at_about_one_time(
    catalog: Catalog, tmp_path: Path, known: set[str]
) -> None:
    """One guess for all that is new left the fuller GPU 10 % behind the middle."""
    gpus = placed(catalog, tmp_path, set(known))
    assert gpus.keys() == TAKEN.keys()
    loads = {gpu: sum(TAKEN[name] for name, on in gpus.items() if on == gpu) for gpu in GPUS}
    assert max(loads.values()) / (sum(loads.values()) / 2) < 1.05


@pytest.mark.parametrize("name", TAKEN)
def test_a_guess_is_near_what_it_took(catalog: Catalog, name: str) -> None:
    assert TAKEN[name] / 1.4 < guessed_seconds(catalog, name) < TAKEN[name] * 1.4


def test_what_a_unit_took_is_believed_and_first_of_its_own_target(catalog: Catalog) -> None:
    def cost(target: str, unit: str, seconds: float) -> GpuCost:
        return GpuCost(target=target, unit=unit, gate_seconds=1.0, seconds=seconds)

    costs = [
        cost("h200", "bsr_rivals", 2.0),
        cost("h100", "bsr_rivals", 1.0),
        cost("h100", "cublas_sizes", 3.0),
        cost("h100", "program_1", 5.0),
    ]
    units = ["bsr_rivals", "cublas_sizes", "program_1", "program_2"]
    found = expected_seconds(catalog, costs, "h200", units)
    assert found == dict(zip(units, [2.0, 3.0, 5.0, 5.0], strict=True))
    assert expected_seconds(catalog, [], "h200", ["bsr_rivals"])["bsr_rivals"] == guessed_seconds(
        catalog, "bsr_rivals"
    )
