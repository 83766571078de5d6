"""The host and PyTorch's operators: what is offered, planned, compiled, recorded and reported."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import write_record
from assay.base.writable import why_not_writable
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.tuning import choices_to_hold
from assay.cli import export_kernels as kernel_set
from assay.cli.export_kernels import make_kernel_set
from assay.evidence.load import load_evidence
from assay.evidence.stages import operators_path, target_paths
from assay.measuring.operator_kernels import kernel_entries, offered, operators_job
from assay.pipeline.dag import Dag
from assay.pipeline.plan import make_plan
from assay.records.builds import FileDigest
from assay.records.kernels import OperatorKernel
from assay.records.operators import CheckName, KernelSetRecord, OperatorOutcome, OperatorsRecord
from assay.records.plan import Plan
from assay.records.tuning import SweepArm, TuningChoice
from assay.report.operators import operator_sections
from assay.shared.files import sha256_bytes
from tests import builders
from tests.report_fixtures import make_request, provision

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


def planned(catalog: Catalog, kind: str = "device", sources: tuple[str, ...] = ("assay",)) -> Plan:
    return make_plan(catalog, make_request("demo", [provision(kind=kind)], sources))


def built(catalog: Catalog, folder: Path, *, without: str = "") -> dict[str, Any]:
    """Build records and libraries of all that is offered on an H100, but for one."""
    found = {}
    for entry in offered(catalog, "h100"):
        record = builders.build(entry.variant)
        path = folder / "sm_90a" / f"{entry.variant}.so"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.variant.encode())
        artifact = FileDigest(
            path=f"sm_90a/{path.name}",
            sha256=sha256_bytes(path.read_bytes()),
            bytes=path.stat().st_size,
        )
        failed = {"status": "failed", "artifact": None}
        changes = failed if entry.variant == without else {"status": "built", "artifact": artifact}
        found[entry.variant] = (record.model_copy(update=changes), path)
    return found


def checks(*without: str) -> list[dict[str, Any]]:
    """Every check passed, but for those left out."""
    said = {"oracle": "relative error: regular 2e-04"}
    return [
        {"name": name, "passed": True, "detail": said.get(name, "")}
        for name in get_args(CheckName)
        if name not in without
    ]


def outcome(**changes: Any) -> dict[str, Any]:
    return {
        "operator": "bsr_gemm",
        "variant": "bsr_gemm_wgmma",
        "dtype": "float16",
        "binary_sha256": "0" * 64,
        "status": "passed",
        "detail": "",
        "checks": checks(),
        "seconds": 1.5,
        **changes,
    }


def record(*outcomes: dict[str, Any]) -> OperatorsRecord:
    document = {
        "schema": "assay/operators/1",
        "target": "h100",
        "gpu_uuid": "GPU-0",
        "recorded_at": "2026-11-21T08:00:00+00:00",
        "torch": "2.11.0",
        "operators": outcomes,
        "seconds": 12.5,
    }
    return OperatorsRecord.model_validate_json(json.dumps(document))


class TestOffer:
    """kernel.yaml lists; config/tuning.yaml may add."""

    def test_each_target_has_what_its_architecture_runs(self, catalog: Catalog) -> None:
        names = {target: {e.variant for e in offered(catalog, target)} for target in ("h100", "l4")}
        assert "bsr_gemm_wgmma" in names["h100"] - names["l4"]
        assert "bsr_gemm_mma" in names["l4"]

    def test_a_chosen_configuration_need_not_be_listed(self, catalog: Catalog) -> None:
        (first, *_) = catalog.tuning.of("h100")
        chosen = first.model_copy(update={"variant": "bsr_gemm_wgmma_g64"})

        def offer(*choices: TuningChoice) -> tuple[OperatorKernel, ...]:
            tuning = catalog.tuning.model_copy(update={"choices": choices})
            return offered(replace(catalog, tuning=tuning), "h100")

        *listed, added = offer(chosen)
        assert tuple(listed) == offer()
        assert added.variant == "bsr_gemm_wgmma_g64"

    def test_a_chosen_product_of_two_sparse_ones_has_the_blocks_of_both(
        self, catalog: Catalog
    ) -> None:
        begun = {each.id: each for each in choices_to_hold(catalog, "h200")}
        arm = SweepArm(comparison="bsr_bsr_tuning", arm="g16")
        chosen = begun["h200_bsr_bsr_gemm_fp16_128x128"].model_copy(
            update={"variant": "bsr_bsr_wgmma_g16", "evidence": arm}
        )
        tuning = catalog.tuning.model_copy(update={"choices": (chosen,)})
        added = offered(replace(catalog, tuning=tuning), "h200")[-1]
        assert (added.variant, added.block, added.block_b) == (
            "bsr_bsr_wgmma_g16", (128, 128), (128, 128),
        )  # fmt: skip

    def test_an_operator_of_a_library_is_bad_input(self, tmp_path: Path) -> None:
        for name in ("config", "kernels"):
            (tmp_path / name).symlink_to(ROOT / name)
        (tmp_path / "kernels").unlink()
        for path in ROOT.glob("kernels/*/kernel.yaml"):
            text = path.read_text(encoding="utf-8").replace("variant: bsr_gemm_mma,", "variant: X,")
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True)
            copy.write_text(text.replace("variant: X,", "variant: torch_bsr,"), encoding="utf-8")
        with pytest.raises(BadInput, match="torch_bsr must be a compiled kernel"):
            load_catalog(tmp_path)

    def test_a_product_has_no_head_dimension(self, tmp_path: Path) -> None:
        (tmp_path / "config").symlink_to(ROOT / "config")
        for path in ROOT.glob("kernels/*/kernel.yaml"):
            entry = "{variant: bsr_gemm_mma, "
            text = path.read_text(encoding="utf-8").replace(entry, f"{entry}head_dim: 64, ")
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True)
            copy.write_text(text, encoding="utf-8")
        with pytest.raises(BadInput, match="bsr_gemm_mma must have head_dim where it is attention"):
            load_catalog(tmp_path)


class TestPlan:
    """Tried where this project's own claims are measured, and nowhere else."""

    def test_every_offered_kernel(self, catalog: Catalog) -> None:
        plan = planned(catalog)
        built = {job.id for job in plan.builds if job.arch == "sm_90a"}
        wanted = tuple(e.variant for e in offered(catalog, "h100"))
        # None is left out, also of those that stand in no comparison that a claim asks for.
        assert set(wanted) <= built
        assert plan.targets[0].operators == wanted
        assert "bsr_gemm_wgmma" in wanted
        assert operators_path("h100") in target_paths(plan.targets[0])

    @pytest.mark.parametrize(
        ("kind", "sources"), [("none", ("assay",)), ("recorded", ("assay",)), ("device", ("002",))]
    )
    def test_otherwise_none(self, catalog: Catalog, kind: str, sources: tuple[str, ...]) -> None:
        plan = planned(catalog, kind, sources)
        assert plan.targets[0].operators == ()
        assert operators_path("h100") not in target_paths(plan.targets[0])

    def test_the_rule_waits_for_their_builds(self, catalog: Catalog) -> None:
        dag = Dag(make_request("demo", [provision()], ["assay"]), planned(catalog), ROOT)
        assert "results/demo/builds/sm_90a/bsr_gemm_wgmma.json" in dag.operator_binaries("h100")


class TestKernelSets:
    """A job for the device side, and a folder for everybody else."""

    def test_a_job_names_libraries_that_were_checked(
        self, catalog: Catalog, tmp_path: Path
    ) -> None:
        builds = built(catalog, tmp_path, without="bsr_gemm_wgmma_bf16")
        job = operators_job(catalog, "h100", builds)
        names = [kernel.variant for kernel in job.kernels]
        assert "bsr_gemm_wgmma" in names
        assert "bsr_gemm_wgmma_bf16" not in names
        assert {"attention_fused_d64", "attention_fused_d128_b64_bf16"} <= set(names)
        attention = {k.variant: (k.block, k.head_dim) for k in job.kernels if k.head_dim}
        assert attention["attention_fused_d64"] == ((128, 128), 64)
        assert attention["attention_fused_d128_b64_bf16"] == ((64, 64), 128)
        assert "bsr_gemm_wgmma" not in attention
        assert all(Path(artifact.path).is_absolute() for artifact in job.artifacts())
        builds["bsr_gemm_wgmma"][1].write_bytes(b"changed")
        with pytest.raises(CheckFailed, match=r"bsr_gemm_wgmma\.so: is not the file"):
            kernel_entries(catalog, "h100", builds)

    @pytest.fixture
    def compiler(self, monkeypatch: pytest.MonkeyPatch, catalog: Catalog, tmp_path: Path) -> Any:
        def use(without: str = "", nothing: bool = False) -> set[Path]:
            caches: set[Path] = set()
            builds = built(catalog, tmp_path / "set", without=without)
            failed = {"status": "failed", "artifact": None}

            def build(*given: Any, cache_dir: Path, **_: Any) -> Any:
                caches.add(cache_dir)
                made = builds[given[3]][0]
                return made.model_copy(update=failed) if nothing else made

            monkeypatch.setattr(kernel_set.building, "build", build)
            monkeypatch.setattr(kernel_set, "compiler_place", lambda root, runtime: None)
            return caches

        return use

    def test_a_folder_has_an_index(self, compiler: Any, tmp_path: Path) -> None:
        compiler(without="bsr_gemm_mma")
        made = make_kernel_set(ROOT, "h100", tmp_path / "set", "host")
        text = (tmp_path / "set" / "kernels.json").read_text()
        assert KernelSetRecord.model_validate_json(text) == made
        assert {choice.target for choice in made.choices} == {"h100"}
        heads = {entry["variant"]: entry["head_dim"] for entry in json.loads(text)["kernels"]}
        assert (heads["attention_fused_d128"], heads["bsr_gemm_wgmma"]) == (128, None)
        assert "bsr_gemm_mma" not in {kernel.variant for kernel in made.kernels}
        for kernel in made.kernels:
            assert (tmp_path / "set" / kernel.path).is_file()

    def test_a_folder_that_cannot_be_made_names_the_option(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(MissingEnvironment, match=r"Not a directory\).* with --output"):
            make_kernel_set(ROOT, "h100", tmp_path / "file" / "set", "host")

    def test_a_tree_that_cannot_be_written_needs_only_the_option(
        self, compiler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        caches: set[Path] = compiler()
        readable = why_not_writable

        def read_only(path: Path) -> str | None:
            return "read-only" if path.is_relative_to(ROOT) else readable(path)

        monkeypatch.setattr(kernel_set, "why_not_writable", read_only)
        make_kernel_set(ROOT, "h100", tmp_path / "set", "host")
        assert caches == {tmp_path / "set" / "cache"}

    def test_nothing_compiled_is_said(self, compiler: Any, tmp_path: Path) -> None:
        compiler(nothing=True)
        with pytest.raises(CheckFailed, match="none of PyTorch's operators has a kernel for h100"):
            make_kernel_set(ROOT, "h100", tmp_path / "set", "host")


class TestRecord:
    """A status that its checks bear out, and a section only where there is a record."""

    @pytest.mark.parametrize(
        "changes",
        [
            {"status": "wrong"},
            {"checks": [{"name": "oracle", "passed": False, "detail": "no"}]},
        ],
    )
    def test_a_status_that_the_checks_deny(self, changes: dict[str, Any]) -> None:
        with pytest.raises(ValidationError, match="its checks say otherwise"):
            OperatorOutcome.model_validate_json(json.dumps(outcome(**changes)))

    def test_attention_is_captured_too(self) -> None:
        document = outcome(operator="block_sparse_attention")
        assert OperatorOutcome.model_validate_json(json.dumps(document)).status == "passed"
        document["checks"] = checks("cuda_graph")
        with pytest.raises(ValidationError, match="not every check was made, and once"):
            OperatorOutcome.model_validate_json(json.dumps(document))

    def test_products_of_older_records_were_not_captured(self) -> None:
        document = outcome(checks=checks("cuda_graph"))
        assert OperatorOutcome.model_validate_json(json.dumps(document)).status == "passed"

    @pytest.mark.parametrize(
        "given", [[], checks("opcheck"), checks("gradient"), [*checks(), *checks("oracle")]]
    )
    def test_a_check_that_was_left_out_is_none_that_passed(self, given: Any) -> None:
        with pytest.raises(ValidationError, match="not every check was made, and once"):
            OperatorOutcome.model_validate_json(json.dumps(outcome(checks=given)))

    def test_fp8_has_no_gradient_to_check(self) -> None:
        document = outcome(dtype="float8_e4m3", checks=checks("gradient"))
        assert OperatorOutcome.model_validate_json(json.dumps(document)).status == "passed"

    def test_what_was_not_tried_is_told(self, catalog: Catalog, tmp_path: Path) -> None:
        """The report holds the record against the plan and against the builds."""
        write_record(planned(catalog), tmp_path / "plan.json")
        build = builders.build("bsr_gemm_wgmma")
        assert build.artifact is not None
        made = record(outcome(), outcome(variant="bsr_gemm_mma"))
        builds = {("bsr_gemm_wgmma", "sm_90a"): build, ("bsr_bsr_wgmma", "sm_90a"): build}
        found = replace(load_evidence(tmp_path), operators={"h100": made}, builds=builds)
        (section,) = operator_sections(catalog, found)
        rows = {row.variant: row for row in section.rows}
        assert set(rows) == {*planned(catalog).targets[0].operators}
        assert rows["bsr_gemm_wgmma"].status == "passed, by another binary than this run's"
        assert rows["bsr_bsr_wgmma"].checks == "The record says nothing of it."
        assert rows["bsr_gemm_wgmma_fp8"].checks == "It did not compile."
        assert not any(row.passed for row in section.rows)
        same = record(outcome(binary_sha256=build.artifact.sha256))
        (section,) = operator_sections(catalog, replace(found, operators={"h100": same}))
        assert section.rows[0].passed

    def test_evidence_and_section(self, catalog: Catalog, tmp_path: Path) -> None:
        write_record(planned(catalog), tmp_path / "plan.json")
        assert operator_sections(catalog, load_evidence(tmp_path)) == ()
        failed = [{"name": "torch_compile", "passed": False, "detail": "Unsupported: a break"}]
        build = builders.build("bsr_gemm_wgmma")
        assert build.artifact is not None
        sha256 = build.artifact.sha256
        wrong = outcome(status="wrong", detail="failed", checks=failed, binary_sha256=sha256)
        made = record(outcome(binary_sha256=sha256), wrong)
        write_record(made, tmp_path / operators_path("h100"))
        builds = {("bsr_gemm_wgmma", "sm_90a"): build}
        (section,) = operator_sections(catalog, replace(load_evidence(tmp_path), builds=builds))
        assert [row.passed for row in section.rows[:2]] == [True, False]
        assert section.rows[0].checks.startswith("oracle: relative error: regular 2e-04; ")
        assert "torch compile FAILED: Unsupported: a break" in section.rows[1].checks
        assert section.link.href == "evidence/h100/operators.json"
