"""The machine's part of the report."""

from pathlib import Path

from assay.base.io import read_record
from assay.evidence.load import load_evidence
from assay.evidence.stages import platform_path
from assay.records.platform import PackageDirectory, PlatformRecord
from assay.report.machine import platform_sections
from tests.report_fixtures import write_repository, write_run

NAME = "packages before its own"


def told(run_dir: Path, directories: tuple[PackageDirectory, ...] | None) -> list[str]:
    """Facts on named directories of packages, where the platform record says this of them."""
    evidence = load_evidence(run_dir)
    record = read_record(PlatformRecord, run_dir / platform_path("h100"))
    record = record.model_copy(update={"device_paths": directories})
    evidence.platforms["h100"] = record
    (section,) = (found for found in platform_sections(evidence) if found["target"] == "h100")
    return [fact.value for fact in section["facts"] if fact.label == NAME]


def test_named_directories_of_packages_are_told_with_what_lay_there(tmp_path: Path) -> None:
    run_dir = write_run(write_repository(tmp_path / "repo"), "demo")
    full = PackageDirectory(path="/opt/packages", packages={"torch": "2.11.0", "numpy": "2.3"})
    empty = PackageDirectory(path="/opt/more", packages={})
    assert told(run_dir, (full, empty)) == [
        "/opt/packages: torch 2.11.0, numpy 2.3",
        "/opt/more: none",
    ]
    assert told(run_dir, ()) == told(run_dir, None) == []
