"""Evidence read from a run: what came along with recorded figures stands in where nothing is."""

from pathlib import Path

import pytest

from assay.base.io import write_record
from assay.evidence.load import load_evidence
from assay.evidence.stages import inspections_path
from assay.records.builds import DeviceCodeResult, InspectionsRecord
from tests import builders as b
from tests.report_fixtures import provision, write_repository, write_run

WITHIN = "earlier/x/evidence"
THERE = f"{WITHIN}/{inspections_path()}"


def looked(status: str, version: str | None) -> InspectionsRecord:
    result = DeviceCodeResult.model_validate(
        {
            "claim": "demo_code",
            "rival": "fa3",
            "package": "fa3",
            "kernels": "flash",
            "status": status,
            "version": version,
        }
    )
    return InspectionsRecord(schema="assay/inspections/1", inspections=(), device_code=(result,))


@pytest.mark.parametrize(
    ("here", "there", "version", "path"),
    [
        (("not_installed", None), ("inspected", "3.0"), "3.0", THERE),
        (("inspected", "4.0"), ("inspected", "3.0"), "4.0", inspections_path()),
        (("not_installed", None), ("failed", "3.0"), None, inspections_path()),
    ],
)
def test_what_was_inspected_where_it_was_measured_counts_where_nothing_is_here(
    tmp_path: Path,
    here: tuple[str, str | None],
    there: tuple[str, str | None],
    version: str | None,
    path: str | None,
) -> None:
    recorded = provision(kind="recorded", recorded_in="reports/x", within=WITHIN)
    run_dir = write_run(write_repository(tmp_path / "repo"), "run", [recorded])
    write_record(looked(*here), run_dir / inspections_path())
    (run_dir / THERE).parent.mkdir(parents=True, exist_ok=True)
    write_record(looked(*there), run_dir / THERE)
    evidence = load_evidence(run_dir)
    assert evidence.device_code["demo_code"].version == version
    assert evidence.inspection_paths.get("demo_code") == path


@pytest.mark.parametrize("copied", [False, True])
def test_builds_are_those_of_the_run_that_measured(tmp_path: Path, copied: bool) -> None:
    """A report of an earlier version, which only copied records, has them beside the target's."""
    given = {"within": WITHIN, "earlier_sources": {"changed": "c" * 40}}
    recorded = provision(kind="recorded", recorded_in="reports/x", **given)
    run_dir = write_run(write_repository(tmp_path / "repo"), "run", [recorded])
    place = f"{WITHIN}/h100/origin" if copied else WITHIN
    for name in ("same", "changed"):
        write_record(b.build(name), run_dir / place / "builds" / "sm_90a" / f"{name}.json")
    evidence = load_evidence(run_dir)
    assert evidence.target_builds["h100"].keys() == {("same", "sm_90a"), ("changed", "sm_90a")}
    (same,) = (evidence.recorded_builds[key] for key in evidence.recorded_builds)
    assert same.path == f"{place}/builds/sm_90a/same.json"
    assert (run_dir / same.path).is_file()
