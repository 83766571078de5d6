"""What steps will take is known from published reports: the repository's, and a project's own."""

import shutil
from pathlib import Path

import pytest

from assay.base.io import read_record
from assay.pipeline.preview import known_seconds
from assay.pipeline.recorded_seconds import recorded_seconds
from assay.records.timings import Stage, TimingsRecord
from assay.verification.report_archive import pack_report
from assay.verification.trust import published_reports
from tests.library_checkout import REPOSITORY
from tests.report.newest import newest_report
from tests.report_fixtures import make_request, provision

H200 = frozenset({"target": "h200"}.items())
PROJECT = REPOSITORY / "projects" / "deepgemm"
TAKES_OVER_S = 10.0
"""What taking over the records of a stage takes at most."""


def benchmark_s(report: Path) -> float:
    """Return what the benchmarks of an H200 took by a report's timings."""
    steps = {(s.stage, *s.arguments.values()): s.seconds for s in recorded_seconds(report)}
    return steps[Stage.BENCHMARK, "h200"]


def test_of_figures_taken_over_it_is_what_measuring_them_took() -> None:
    report = newest_report()
    own = read_record(TimingsRecord, report / "evidence" / "timings.json")
    origin = read_record(TimingsRecord, report / "evidence" / "h200" / "origin" / "timings.json")
    (took_over, measured) = (
        next(
            s.seconds
            for s in record.steps
            if s.stage is Stage.BENCHMARK and s.arguments == dict(H200)
        )
        for record in (own, origin)
    )
    assert took_over < TAKES_OVER_S < measured
    assert benchmark_s(report) == measured


def test_an_archive_says_the_same_as_its_directory(tmp_path: Path) -> None:
    report = newest_report()
    packed = tmp_path / f"{report.name}.tar.xz"
    packed.write_bytes(pack_report(report))
    assert recorded_seconds(packed) == recorded_seconds(report) != ()


def test_a_project_is_known_by_its_own_published_report() -> None:
    (own, *_) = published_reports(PROJECT)
    request = make_request("new", [provision("h200")], ["002"])
    ours = known_seconds(REPOSITORY, request)[Stage.BENCHMARK, H200]
    theirs = known_seconds(REPOSITORY, request.model_copy(update={"home": str(PROJECT)}))[
        Stage.BENCHMARK, H200
    ]
    assert theirs == benchmark_s(own) != ours
    assert theirs > TAKES_OVER_S


@pytest.mark.parametrize("name", ["evidence/plan.json", "evidence/timings.json"])
def test_a_report_without_timings_says_nothing(tmp_path: Path, name: str) -> None:
    report = Path(shutil.copytree(newest_report(), tmp_path / "report"))
    (report / name).unlink()
    assert recorded_seconds(report) == ()


def test_what_is_no_archive_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "odd.tar.xz").write_bytes(b"no archive")
    assert recorded_seconds(tmp_path / "odd.tar.xz") == ()
