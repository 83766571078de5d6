"""Evidence read from a run: what came along with recorded figures stands in where nothing is."""

from pathlib import Path

import pytest

from assay.base.io import write_record
from assay.evidence.load import load_evidence
from assay.evidence.stages import came_along, inspections_path, origin_folder
from assay.records.inspections import DeviceCodeResult, InspectionsRecord
from tests.report_fixtures import provision, write_repository, write_run

THERE = f"{origin_folder('h100')}/{inspections_path()}"


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
        (("inspected", "4.0"), ("inspected", "3.0"), "4.0", None),
        (("not_installed", None), ("failed", "3.0"), None, None),
    ],
)
def test_what_was_inspected_where_it_was_measured_counts_where_nothing_is_here(
    tmp_path: Path,
    here: tuple[str, str | None],
    there: tuple[str, str | None],
    version: str | None,
    path: str | None,
) -> None:
    recorded = provision(
        kind="recorded", recorded_in="reports/x", recorded_paths=(inspections_path(),)
    )
    run_dir = write_run(write_repository(tmp_path / "repo"), "run", [recorded])
    write_record(looked(*here), run_dir / inspections_path())
    (run_dir / THERE).parent.mkdir(parents=True, exist_ok=True)
    write_record(looked(*there), run_dir / THERE)
    evidence = load_evidence(run_dir)
    assert came_along(evidence.plan.targets[0]) == {THERE: inspections_path()}
    assert evidence.device_code["demo_code"].version == version
    assert evidence.device_code_paths.get("demo_code") == path
