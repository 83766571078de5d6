"""What is known of builds, of those made here and of those that figures were taken over with."""

from dataclasses import replace

from assay.evidence.model import (
    Evidence,
    RecordedBuild,
    binaries_of,
    build_of,
    build_record_path,
    builds_of,
)
from assay.records.builds import BuildRecord
from tests import builders as b

KEY = ("ours", "sm_90a")
HERE, THEN = b.build("ours", content="here"), b.build("ours", content="then")


def evidence(here: BuildRecord | None, then: BuildRecord | None) -> Evidence:
    came = {KEY: RecordedBuild(then, "h100/origin/builds/x", "reports/x")} if then else {}
    return replace(b.evidence([], builds=[here] if here else []), recorded_builds=came)


class TestBuilds:
    def test_of_this_run_stand_before_those_taken_over(self) -> None:
        found = evidence(HERE, THEN)
        assert build_of(found, *KEY) == HERE
        assert builds_of(found) == {KEY: HERE}
        assert build_record_path(found, *KEY) == "builds/sm_90a/ours.json"

    def test_taken_over_stand_where_this_run_made_none(self) -> None:
        found = evidence(None, THEN)
        assert build_of(found, *KEY) == THEN
        assert builds_of(found) == {KEY: THEN}
        assert build_record_path(found, *KEY) == "h100/origin/builds/x"

    def test_that_nobody_made_are_none(self) -> None:
        found = evidence(None, None)
        assert build_of(found, *KEY) is None
        assert builds_of(found) == {}
        assert build_record_path(found, *KEY) is None

    def test_of_both_may_have_made_a_binary_that_was_measured(self) -> None:
        assert len(binaries_of(evidence(HERE, THEN), *KEY)) == 2
