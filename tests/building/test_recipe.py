"""Compilations as data."""

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.building.recipe import CUTLASS, TOOL, Compilation, describe
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.records.kernels import Probe, Variant
from assay.verification.trust import published_reports
from tests import builders as b

LOCK = "a" * 64


def variant(**changes: object) -> Variant:
    values = {
        "id": "small",
        "source": "small.cu",
        "symbol": "small",
        "defines": {"WIDTH": 4, "DEPTH": 2},
        "flags": ("--use_fast_math", "-O3"),
    }
    return b.variants()["our_kernel"].model_copy(update={**values, **changes})


PROGRAM = b.programs()["ex41"].model_copy(
    update={
        "id": "example",
        "source": "cutlass_library/source/examples/x/x.cu",
        "flags": b.cited("-O3", "--expt-relaxed-constexpr"),
        "includes": ("cutlass_library/source/include",),
    }
)
PROBE = Probe(id="feature", title="a feature", source="feature.cu")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "kernels" / "bsr_gemm"
    folder.mkdir(parents=True)
    (folder / "small.cu").write_text('#include <cuda.h>\n#include "tile.cuh"\n')
    (folder / "tile.cuh").write_text(
        '  # include "common/check.cuh"\n#include "cutlass/x.h"\n#include "small.cu"\n'
    )
    (folder / "other.cuh").write_text("// nobody includes this\n")
    (folder / "feature.cu").write_text("__global__ void f() {}\n")
    (tmp_path / "kernels" / "common").mkdir()
    (tmp_path / "kernels" / "common" / "check.cuh").write_text("// check\n")
    return tmp_path


def catalog(**changes: object) -> Catalog:
    small = variant(**changes)
    return b.catalog(
        variants={"small": small, "library": variant(id="library", source=None, kind="library")},
        programs={"example": PROGRAM},
        probes={"feature": PROBE},
        kernel_folder={"small": "bsr_gemm", "library": "bsr_gemm", "feature": "bsr_gemm"},
    )


def key(tree: Path, lock: str = LOCK, arch: str = "sm_90a", **changes: object) -> str:
    return describe(tree, catalog(**changes), "variant", "small", arch, lock).key


def test_a_programs_command_is_of_the_packages_own_source(tree: Path):
    command = describe(tree, catalog(), "program", "example", "sm_89", LOCK).command
    assert command[-2:] == ("example.exe", "tool/cutlass_library/source/examples/x/x.cu")
    assert command.count("-O3") == 1 and "-shared" not in command
    assert "-Itool/cutlass_library/source/include" in command


def test_a_key_changes_with_all_that_decides_and_nothing_else(tree: Path, tmp_path: Path):
    keys = {
        key(tree),
        key(tree, defines={"WIDTH": 8, "DEPTH": 2}),
        key(tree, flags=()),
        key(tree, arch="sm_89"),
        key(tree, lock="b" * 64),
    }
    assert len(keys) == 5
    assert key(tree, title="another") == key(tree)
    other = tmp_path / "other" / "deeper"
    shutil.copytree(tree / "kernels", other / "kernels")
    (other / "kernels" / "bsr_gemm" / "other.cuh").write_text("// changed\n")
    assert key(other) == key(tree)
    (other / "kernels" / "common" / "check.cuh").write_text("// other\n")
    assert key(other) != key(tree)


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [("program", "nothing", "no program"), ("variant", "library", "nothing to compile")],
)
def test_what_is_not_described_is_refused(tree: Path, kind, name: str, why: str):
    with pytest.raises(BadInput, match=why):
        describe(tree, catalog(), kind, name, "sm_89", LOCK)


def test_a_build_of_unchanged_sources_keeps_its_key_and_its_command() -> None:
    """A measured build is described as it was, as long as its sources are the same."""
    repository = Path(__file__).resolve().parents[2]
    catalog = load_catalog(repository)
    newest = published_reports(repository)[0] / "evidence"
    kinds = ((catalog.variants, "variant"), (catalog.probes, "probe"))
    for record in load_evidence(newest).builds.values():
        kind = next((kind for known, kind in kinds if record.id in known), None)
        if kind is None:
            continue
        lock = record.toolchain.lock_sha256
        now = describe(repository, catalog, kind, record.id, record.arch, lock)
        if now.sources == record.sources:
            assert now.key == record.key, record.id
            assert now.command == record.command, record.id


@pytest.mark.compiler
def test_the_recorded_sources_are_those_that_the_compiler_reads(toolchain, tmp_path):
    """By nvcc's own list. A header that one variant leaves out by #if still counts for its file."""
    root = Path(__file__).resolve().parents[2]
    catalog = load_catalog(root)
    (tmp_path / "kernels").symlink_to(root / "kernels")
    (tmp_path / TOOL / "cutlass_library").mkdir(parents=True)
    for name in ("nvidia", CUTLASS):
        (tmp_path / TOOL / name).symlink_to(toolchain.site / name)
    read: dict[str, set[str]] = {}
    recorded: dict[str, set[str]] = {}
    kernels = [("variant", v.id, v.archs) for v in catalog.variants.values() if v.source]
    kernels += [("probe", name, ("sm_90a",)) for name in catalog.probes]
    for kind, name, archs in kernels:
        job = describe(root, catalog, kind, name, archs[-1], LOCK)
        listed = dependencies(job, tmp_path)
        ours = {source.path for source in job.sources}
        assert listed <= ours, f"{name}: not covered by its key"
        read.setdefault(job.command[-1], set()).update(listed)
        recorded[job.command[-1]] = ours
    assert read == recorded
    shared = {f"kernels/common/{name}.cuh" for name in ("launch", "mma", "ptx")}
    assert read["kernels/bsr_gemm/bsr_mma.cu"] == {"kernels/bsr_gemm/bsr_mma.cu", *shared}
    assert read["kernels/support/probe_wmma.cu"] == {"kernels/support/probe_wmma.cu"}


def dependencies(job: Compilation, directory: Path) -> set[str]:
    """Our files among those that nvcc lists for a compilation."""
    words = [
        word for word in job.command[1:] if word not in ("--keep", "--keep-dir=keep", "-cubin")
    ]
    at = words.index("-o")
    run = subprocess.run(
        [f"./{TOOL}/nvidia/cu13/bin/nvcc", *words[:at], *words[at + 2 :], "-MM"],
        cwd=directory, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {word for word in run.stdout.split() if word.startswith("kernels/")}
