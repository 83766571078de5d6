"""Jobs beside the figures: what is timed again, and which kernels a sanitizer is given."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.measuring.device_jobs import TargetJobs
from assay.records.builds import BuildRecord
from assay.records.measurements import CorrectnessRecord
from assay.shared.files import sha256_file
from tests.report_fixtures import write_repository, write_run


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return load_catalog(write_repository(tmp_path / "repo"))


@pytest.fixture
def builds(tmp_path: Path) -> dict[str, tuple[BuildRecord, Path]]:
    """Two kernels that were compiled, and one that the compiler refused."""
    evidence = load_evidence(write_run(tmp_path / "repo"))
    made: dict[str, tuple[BuildRecord, Path]] = {}
    for bk in (32, 96):
        path = tmp_path / f"bk{bk}.so"
        path.write_bytes(b"%d" % bk)
        record = evidence.builds[f"demo_bk{bk}", "sm_90a"]
        artifact = record.artifact.model_copy(update={"sha256": sha256_file(path)})
        made[f"demo_bk{bk}"] = (record.model_copy(update={"artifact": artifact}), path)
    refused = evidence.builds["demo_bk64", "sm_90a"]
    made["demo_bk64"] = (refused.model_copy(update={"artifact": None}), Path())
    return made


def test_a_sanitizer_gets_every_compiled_kernel_once_on_a_problem_of_its_own(catalog, builds):
    job = TargetJobs(catalog, "h100").sanitizer(["demo_sweep"], builds)
    assert [(arm.variant.id, arm.workload.id) for arm in job.arms] == [
        ("demo_bk32", "demo_bsr"),
        ("demo_bk96", "demo_bsr"),
    ]
    assert [Path(artifact.path).name for artifact in job.artifacts()] == ["bk32.so", "bk96.so"]


def test_a_binary_that_is_not_its_builds_is_refused(catalog, builds):
    builds["demo_bk32"][1].write_bytes(b"another")
    with pytest.raises(CheckFailed, match="is not the file"):
        TargetJobs(catalog, "h100").sanitizer(["demo_sweep"], builds)


def test_only_profiled_arms_that_passed_the_gate_are_timed_again(catalog, builds, tmp_path):
    evidence = load_evidence(tmp_path / "repo" / "results" / "demo_run")
    gate: CorrectnessRecord = evidence.correctness["h100", "demo_sweep"]
    job = TargetJobs(catalog, "h100").stopwatch("demo_sweep", builds, gate)
    assert job.timed == ("bk32", "bk96")
    wrong = gate.arms[0].model_copy(update={"status": "incorrect"})
    failed = gate.model_copy(update={"arms": (wrong, *gate.arms[1:])})
    assert TargetJobs(catalog, "h100").stopwatch("demo_sweep", builds, failed).timed == ("bk96",)


def test_an_arm_alone_is_timed_only_where_a_claim_asks_for_it_alone(catalog, builds, tmp_path):
    evidence = load_evidence(tmp_path / "repo" / "results" / "demo_run")
    gate: CorrectnessRecord = evidence.correctness["h100", "demo_sweep"]
    wrong = tuple(arm.model_copy(update={"status": "incorrect"}) for arm in gate.arms[1:])
    artifact = builds[gate.arms[0].variant][0].artifact
    right = gate.arms[0].model_copy(update={"binary_sha256": artifact.sha256})
    failed = gate.model_copy(update={"arms": (right, *wrong)})
    asked = TargetJobs(catalog, "h100").benchmark("demo_sweep", builds, failed)
    nobody = replace(catalog, claims={})
    alone = TargetJobs(nobody, "h100").benchmark("demo_sweep", builds, failed)
    assert (asked.timed, alone.timed) == (("bk32",), ())
    assert set(alone.not_timed) == {arm.arm for arm in gate.arms}
