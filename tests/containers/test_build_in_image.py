"""Kernels compiled inside the real toolchain image, against the host and the evidence.

This is the proof that a container changes no byte of what is measured. The image is built for real,
by a real engine; nothing here needs a GPU.
"""

from pathlib import Path

import pytest

from assay.building.build import build
from assay.building.toolchain import ensure_toolchain
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import builds_of
from assay.records.builds import BuildRecord
from assay.runtimes.base import Place
from assay.runtimes.host import HostRuntime
from assay.shared.files import sha256_file
from assay.verification.rebuild import PROVEN, rebuild
from assay.verification.report_archive import opened_report
from assay.verification.trust import published_reports

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "sm_90a/cutlass_example_57"


def compiled_at(place: Place, folder: Path) -> BuildRecord:
    return build(
        ROOT, load_catalog(ROOT), "variant", "bsr_gemm_mma", "sm_90a",
        out_dir=folder / "out", cache_dir=folder / "cache", place=place,
    )  # fmt: skip


def newest_of_our_own() -> Path:
    return max((ROOT / "reports/published").glob("own_*"), key=lambda report: report.name)


def cuda_file(build: BuildRecord) -> str:
    return next(file.path for file in build.sources if file.path.endswith(".cu"))


def as_compiled(build: BuildRecord) -> bool:
    """Whether its sources lie here as they were compiled."""
    return all(sha256_file(ROOT / file.path) == file.sha256 for file in build.sources)


@pytest.mark.docker
@pytest.mark.compiler
class TestSameBytes:
    """Container against host, and container against what was measured."""

    def test_the_record_names_the_image_and_is_else_the_hosts(self, toolchain_place, tmp_path):
        inside = compiled_at(toolchain_place, tmp_path / "image")
        outside = compiled_at(Place(HostRuntime()), tmp_path / "host")
        assert inside.toolchain.runtime == "docker"
        assert inside.toolchain.image_id == toolchain_place.image.image_id
        assert (inside.status, inside.key) == ("built", outside.key)
        assert (inside.cubins, inside.resources) == (outside.cubins, outside.resources)
        if inside.toolchain.host_compiler == outside.toolchain.host_compiler:
            assert inside.artifact == outside.artifact

    def test_what_was_measured_comes_out_of_the_image(self, toolchain_place: Place):
        """One kernel of each file, and a program: all of them take ten minutes of two cores.

        Two reports: our own kernels are measured more often than the five documents.
        """
        place = ensure_toolchain(ROOT, toolchain_place)
        files, unlike = set[str](), set[str]()
        for published in (published_reports(ROOT)[0], newest_of_our_own()):
            with opened_report(published) as report:
                of_file = {
                    cuda_file(each): f"{each.arch}/{each.id}"
                    for each in builds_of(load_evidence(report / "evidence")).values()
                    if each.kind != "program" and as_compiled(each) and cuda_file(each) not in files
                }
                program = [] if files else [PROGRAM]
                only = [*of_file.values(), *program]
                again = rebuild(report, ROOT, place, only=only)
            assert len(again.builds) == len(only) > 0
            files |= set(of_file)
            unlike |= {
                f"{each.name}: {each.detail}" for each in again.builds if each.status not in PROVEN
            }
        assert len(files) > 10
        assert not unlike
