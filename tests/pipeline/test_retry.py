"""The outputs that a further start of a run tries again, and those it leaves alone."""

from pathlib import Path

import pytest

from assay.base.io import write_record
from assay.evidence.load import load_evidence
from assay.evidence.outcomes import (
    came_to_nothing,
    failed_cheats,
    failed_operators,
    failed_profile,
    failed_sanitizer,
)
from assay.evidence.stages import profile_path, sanitizer_path
from assay.pipeline.failures import outputs_to_retry
from assay.records.base import Record
from assay.records.plan import Plan
from assay.shared.job import CheatsJob, ProfileJob
from assay.shared.specs import ArmSpec
from tests.jobs import KERNEL, SPARSE, TARGET, comparison
from tests.report_fixtures import UUID, WHEN, cheats, sanitizer, write_repository, write_run

ARM = ArmSpec("bk32", KERNEL, SPARSE, None)
PROFILE = ProfileJob(TARGET, comparison(ARM, name="demo_sweep"), "bk32")
ALONE = CheatsJob(TARGET)
LOST = "the driver hung"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return write_run(write_repository(tmp_path / "repo"))


def _plan(run_dir: Path) -> Plan:
    return load_evidence(run_dir).plan


@pytest.mark.parametrize(
    ("path", "record", "output"),
    [
        (sanitizer_path("h100"), failed_sanitizer(ALONE, UUID, WHEN, LOST), sanitizer_path("h100")),
        (
            profile_path("h100", "demo_sweep", "bk32"),
            failed_profile(PROFILE, UUID, WHEN, LOST),
            "h100/profile",
        ),
    ],
)
def test_a_failure_names_the_output_of_its_step(
    run_dir: Path, path: str, record: Record, output: str
) -> None:
    write_record(record, run_dir / path)
    assert outputs_to_retry(run_dir, _plan(run_dir)) == [output]


def test_figures_come_first_and_taken_over_records_stay(run_dir: Path) -> None:
    write_record(failed_sanitizer(ALONE, UUID, WHEN, LOST), run_dir / sanitizer_path("h100"))
    plan = _plan(run_dir)
    taken = tuple(
        one.model_copy(update={"provision": one.provision.model_copy(update={"kind": "recorded"})})
        for one in plan.targets
    )
    assert outputs_to_retry(run_dir, plan.model_copy(update={"targets": taken})) == []
    assert outputs_to_retry(run_dir, plan) != []
    (run_dir / "h100" / "benchmark").rename(run_dir / "h100" / "elsewhere")
    assert outputs_to_retry(run_dir, plan) == []


def test_findings_and_lacks_are_no_failures() -> None:
    watched = sanitizer("h100", "sm_90a", ["demo_bk32"], racy="demo_bk32")
    lacking = failed_sanitizer(ALONE, UUID, WHEN, "none").model_copy(
        update={"status": "not_installed"}
    )
    untold = failed_profile(PROFILE, UUID, WHEN, "none").model_copy(
        update={"status": "permission_denied"}
    )
    assert not any(map(came_to_nothing, (watched, lacking, untold, cheats("h100", caught=False))))
    failures = (failed_cheats(ALONE, UUID, WHEN, LOST), failed_operators(ALONE, UUID, WHEN, LOST))
    assert all(map(came_to_nothing, failures))
