"""What is known of builds, of those made here and of those that figures were taken over with."""

from dataclasses import replace

import pytest

from assay.evidence.model import RecordedBuild, binaries_of, build_of, build_record_path, builds_of
from tests import builders as b

KEY = ("ours", "sm_90a")
HERE, THEN = b.build("ours", content="here"), b.build("ours", content="then")


@pytest.mark.parametrize(
    ("here", "then", "counts", "path"),
    [
        (HERE, THEN, HERE, "builds/sm_90a/ours.json"),
        (None, THEN, THEN, "h100/origin/builds/x"),
        (None, None, None, None),
    ],
)
def test_builds_of_this_run_stand_before_those_taken_over(here, then, counts, path):
    came = {KEY: RecordedBuild(then, "h100/origin/builds/x", "reports/x")} if then else {}
    found = replace(b.evidence([], builds=[here] if here else []), recorded_builds=came)
    assert build_of(found, *KEY) == counts
    assert builds_of(found) == ({KEY: counts} if counts else {})
    assert build_record_path(found, *KEY) == path
    # Both may have made a binary that was measured.
    assert len(binaries_of(found, *KEY)) == sum(each is not None for each in (here, then))
