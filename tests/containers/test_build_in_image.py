"""Every kernel compiled inside the real toolchain image, against the host and the evidence.

This is the proof that a container changes no byte of what is measured. The image is built for real,
by a real engine; nothing here needs a GPU.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.building.build import build
from assay.building.toolchain import ensure_toolchain
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import builds_of
from assay.records.builds import BuildRecord
from assay.runtimes.base import Place
from assay.runtimes.host import HostRuntime
from assay.verification.rebuild import rebuild
from assay.verification.rebuild_outcome import PROVEN
from assay.verification.report_archive import opened_report
from assay.verification.trust import published_reports

ROOT = Path(__file__).resolve().parents[2]
CATALOG: Catalog = load_catalog(ROOT)
KERNELS = [
    (name, arch)
    for name, variant in CATALOG.variants.items()
    if variant.source is not None
    for arch in variant.archs
]
PROGRAMS = ("sm_90a/cutlass_example_41", "sm_90a/cutlass_example_57")


def compile_all(
    jobs: list[tuple[str, str]], kind: str, place: Place, folder: Path
) -> dict[tuple[str, str], BuildRecord]:
    """Compile without any cache, two at a time."""

    def one(job: tuple[str, str]) -> BuildRecord:
        name, arch = job
        return build(
            ROOT, CATALOG, kind, name, arch,  # type: ignore[arg-type]
            out_dir=folder / "out", cache_dir=folder / "cache", place=place,
        )  # fmt: skip

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(jobs, pool.map(one, jobs), strict=True))


@pytest.fixture(scope="module")
def in_image(
    toolchain_place: Place, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], BuildRecord]:
    return compile_all(KERNELS, "variant", toolchain_place, tmp_path_factory.mktemp("image"))


@pytest.fixture(scope="module")
def on_host(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], BuildRecord]:
    return compile_all(KERNELS, "variant", Place(HostRuntime()), tmp_path_factory.mktemp("host"))


@pytest.mark.docker
@pytest.mark.compiler
class TestSameBytes:
    """Container against host, and container against what was measured."""

    def test_the_record_names_the_image_that_compiled(
        self, in_image: dict[tuple[str, str], BuildRecord], toolchain_place: Place
    ):
        assert toolchain_place.image is not None
        for record in in_image.values():
            assert record.toolchain.runtime == "docker"
            assert record.toolchain.image_id == toolchain_place.image.image_id

    def test_cubins_and_resources_are_the_hosts(
        self,
        in_image: dict[tuple[str, str], BuildRecord],
        on_host: dict[tuple[str, str], BuildRecord],
    ):
        assert len(in_image) == len(KERNELS)
        for job, record in in_image.items():
            assert record.status == on_host[job].status == "built", job
            assert record.cubins == on_host[job].cubins, job
            assert record.resources == on_host[job].resources, job

    def test_libraries_are_the_hosts_where_its_compiler_is_the_same(
        self,
        in_image: dict[tuple[str, str], BuildRecord],
        on_host: dict[tuple[str, str], BuildRecord],
    ):
        compilers = {
            (record.toolchain.host_compiler, on_host[job].toolchain.host_compiler)
            for job, record in in_image.items()
        }
        if any(ours != theirs for ours, theirs in compilers):
            pytest.skip(f"another g++ on this host: {compilers}")
        for job, record in in_image.items():
            assert record.artifact == on_host[job].artifact, job

    def test_what_was_measured_comes_out_of_the_image(self, toolchain_place: Place):
        """From the sources that git's history has of it, wherever today's are others.

        All kernels and two programs: all of these take ten minutes of two cores.
        """
        with opened_report(published_reports(ROOT)[0]) as report:
            builds = builds_of(load_evidence(report / "evidence")).values()
            only = [
                name
                for each in builds
                if (name := f"{each.arch}/{each.id}") in PROGRAMS or each.kind != "program"
            ]
            place = ensure_toolchain(ROOT, toolchain_place)
            again = rebuild(report, ROOT, place, jobs=2, only=only)
        assert not again.problems
        assert {entry.id for entry in again.builds} >= {"attention_fused_d64", "cutlass_example_57"}
        unlike = {
            f"{entry.name}: {entry.detail}" for entry in again.builds if entry.status not in PROVEN
        }
        assert not unlike
