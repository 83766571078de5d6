"""The outputs that a further start of a run tries again, and those it leaves alone."""

from assay.evidence.outcomes import (
    came_to_nothing,
    failed_cheats,
    failed_operators,
    failed_profile,
    failed_sanitizer,
)
from assay.shared.job import CheatsJob, ProfileJob
from assay.shared.specs import ArmSpec
from tests.jobs import KERNEL, SPARSE, TARGET, comparison
from tests.report_fixtures import UUID, WHEN, cheats, sanitizer

ARM = ArmSpec("bk32", KERNEL, SPARSE, None)
PROFILE = ProfileJob(TARGET, comparison(ARM, name="demo_sweep"), "bk32")
ALONE = CheatsJob(TARGET)
LOST = "the driver hung"


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
