"""The targets: which product is which, and that one that nobody asks for costs nothing."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from assay.catalog.model import Catalog
from assay.evidence.stages import TARGET_STAGES
from assay.pipeline.plan import make_plan
from assay.records.evaluations import Support
from assay.records.plan import Plan
from assay.records.platform import Target
from assay.records.timings import Stage
from tests.report_fixtures import make_request, provision

ROOT = Path(__file__).resolve().parents[2]
PRODUCTS = {
    "NVIDIA L4": "l4",
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H100 PCIe": "h100_pcie",
    "NVIDIA H100 NVL": "h100_nvl",
    "NVIDIA H200": "h200",
    "NVIDIA GH200 480GB": "gh200",
    "NVIDIA GeForce RTX 4090": "rtx4090",
    "NVIDIA A100-SXM4-80GB": "a100",
    "NVIDIA L40S": "l40s",
    "NVIDIA RTX 6000 Ada Generation": "rtx6000ada",
    # Others, with other peaks than the products that their names begin as.
    "NVIDIA H100 80GB HBM3 MIG 1g.10gb": None,
    "NVIDIA H100 SXM5 64GB": None,
    "NVIDIA H200 NVL": None,
    "NVIDIA GH200 144G HBM3e": None,
    "NVIDIA A100-SXM4-40GB": None,
    "NVIDIA A100 80GB PCIe": None,
    "NVIDIA GeForce RTX 4090 D": None,
    "NVIDIA GeForce RTX 4090 Laptop GPU": None,
    "NVIDIA L40": None,
}
"""What NVML calls products, and the target that each is of."""


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_is_of_one_target_at_most(catalog: Catalog, product: str) -> None:
    timed = (target for target in catalog.targets.values() if target.timed)
    found = [t.id for t in timed if re.fullmatch(t.product_pattern, product)]
    assert found == [name for name in (PRODUCTS[product],) if name]


def test_every_target_has_a_product_of_its_own(catalog: Catalog) -> None:
    timed = {name: target for name, target in catalog.targets.items() if target.timed}
    assert timed.keys() == {name for name in PRODUCTS.values() if name}
    models = [target.gpu_model for target in timed.values()]
    assert len(set(models)) == len(models)


def planned(catalog: Catalog, *targets: str) -> Plan:
    """As a run on machines with these GPUs, or a bundle for one, is planned."""
    asked = make_request("run", [provision(name) for name in targets], tuple(catalog.sources))
    return make_plan(catalog, asked.model_copy(update={"rebuild": True, "runtime": "docker"}))


def test_where_a_driver_compiles_ptx_outputs_are_checked_and_nothing_is_timed(catalog):
    """An L4's kernels on a Hopper GPU: gates and sanitizers; no time of any."""
    asked = make_request("run", [provision("l4_on_h200")], ["sm_89", "l4_model"])
    plan = make_plan(catalog, asked)
    (there,) = plan.targets
    stages = {stage.stage for stage in TARGET_STAGES if stage.keys(there)}
    outputs = {Stage.PROGRAM, Stage.CORRECTNESS, Stage.SANITIZER, Stage.CHEATS}
    assert outputs <= stages
    assert not stages & {Stage.BENCHMARK, Stage.STOPWATCH, Stage.PROFILE}
    checked = {"cutlass_example_43", "cutlass_example_47"}
    assert {job.program for job in there.programs} == checked
    variants = {job.id for job in plan.builds if job.arch == "compute_89"} - checked
    assert variants == set(there.sanitized)
    assert all("sm_89" in catalog.variants[name].archs for name in variants)
    answered = {answer.claim for answer in plan.answers if answer.way == "measure"}
    their_own_check = {f"l4_model_{each.removeprefix('cutlass_')}_checked" for each in checked}
    assert answered == {claim.id for claim in catalog.sources["sm_89"].claims} | their_own_check


def test_a_target_that_nobody_asks_for_adds_nothing(catalog: Catalog) -> None:
    """No build, no image, no step on a GPU or node, no row; but what a statement itself names."""
    targets = ("l4", "h100")
    plan = planned(catalog, *targets)
    support = {
        (claim.evaluation.probe, claim.evaluation.arch)
        for claim in catalog.claims.values()
        if isinstance(claim.evaluation, Support)
    }
    archs = {job.arch for job in plan.builds if (job.id, job.arch) not in support}
    assert archs == {"sm_89", "sm_90a"}
    assert plan.toolchains == targets
    assert {each.target for each in plan.targets} == set(targets)
    own = {*catalog.claims["bsr_gemm_vs_cublas"].hardware.targets, *targets, None}
    assert {answer.target for answer in plan.answers} <= own


@pytest.mark.parametrize("arch", ["compute_", "sm_8x", "l4", "compute_89_"])
def test_an_architecture_that_no_compiler_knows_the_form_of_is_no_target(catalog, arch):
    fields = catalog.targets["l4_on_h200"].model_dump(by_alias=True)
    assert Target.model_validate({**fields, "arch": "compute_80"}).timed is False
    with pytest.raises(ValidationError, match="is no architecture"):
        Target.model_validate({**fields, "arch": arch})
