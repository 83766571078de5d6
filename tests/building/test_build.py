"""The build stage: real compilations of small kernels, the cache, and prebuilt artifacts."""

import ctypes
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.building import build as building
from assay.building.build import build
from assay.building.line_tables import OPERATIONS
from assay.building.toolchain import LOCK, Toolchain
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.records.builds import BuildRecord
from assay.records.kernels import Probe
from assay.runtimes.base import Place
from assay.runtimes.host import HostRuntime
from assay.shared.files import sha256_file
from tests import builders as b
from tests.building.test_recipe import variant

ROOT = Path(__file__).resolve().parents[2]

# Internal linkage and a library header: the two things whose names or bytes follow paths.
SMALL = r"""
#include <cuda/std/utility>
#include "scale.cuh"
namespace { __device__ float hidden = 3.0f; }
template <int N> static __global__ void scale(float* p) {
    __shared__ float tile[64];
    tile[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = cuda::std::move(tile[63 - threadIdx.x]) * hidden * SCALE * N;
}
extern "C" int small(float* p, void* stream) {
    if (p == nullptr) return (int)cudaErrorInvalidValue;
    scale<WIDTH><<<1, 64, 0, (cudaStream_t)stream>>>(p);
    return (int)cudaGetLastError();
}
"""
PROGRAM = b.programs()["ex41"].model_copy(
    update={
        "id": "example",
        "source": "cutlass_library/source/examples/03_visualize_layout/register_layout.cu",
        "flags": b.cited("-lineinfo", "-c"),
        "includes": tuple(
            f"cutlass_library/source/{name}"
            for name in ("include", "tools/util/include", "examples/common")
        ),
    }
)
ASSERTING = """
#include <cassert>
__global__ void check(int* p) {
    assert(p[0] > 0);
    p[1] = p[0];
}
"""
CP_ASYNC = """
__global__ void copy(int* p) {
    __shared__ int s[4];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                 :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(p));
    asm volatile("cp.async.wait_all;");
    p[4] = s[0];
}
"""


def catalog() -> Catalog:
    return b.catalog(
        variants={"small": variant(flags=())},
        programs={"example": PROGRAM},
        probes={
            "copies": Probe(id="copies", title="cp.async", source="copies.cu"),
            "asserting": Probe(id="asserting", title="assert", source="asserting.cu"),
            "silent": Probe(
                id="silent", title="no assert", source="asserting.cu", flags=("-DNDEBUG",)
            ),
        },
        kernel_folder={
            "small": "bsr_gemm",
            **dict.fromkeys(("copies", "asserting", "silent"), "support"),
        },
    )


def make_tree(root: Path, place: Path) -> Path:
    """A checkout with two small kernels; its toolchain is hard links to the real one."""
    (place / "kernels" / "bsr_gemm").mkdir(parents=True)
    (place / "kernels" / "bsr_gemm" / "small.cu").write_text(SMALL)
    (place / "kernels" / "bsr_gemm" / "scale.cuh").write_text("#define SCALE 2.0f\n")
    (place / "kernels" / "support").mkdir()
    (place / "kernels" / "support" / "copies.cu").write_text(CP_ASYNC)
    (place / "kernels" / "support" / "asserting.cu").write_text(ASSERTING)
    (place / LOCK).parent.mkdir()
    shutil.copy(root / LOCK, place / LOCK)
    return place


def link_toolchain(toolchain: Toolchain, place: Path) -> None:
    site = toolchain.site

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:  # another file system
            shutil.copy2(source, target, follow_symlinks=False)

    shutil.copytree(site, place / ".toolchain" / site.name, symlinks=True, copy_function=link)


@pytest.fixture(scope="module")
def tree(root: Path, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = make_tree(root, tmp_path_factory.mktemp("one"))
    link_toolchain(toolchain, place)
    return place


@pytest.fixture(scope="module")
def other_tree(root: Path, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = make_tree(root, tmp_path_factory.mktemp("two") / "far" / "deeper")
    link_toolchain(toolchain, place)
    return place


HABITS = {
    "TZ": "Asia/Kathmandu",
    "LANG": "de_DE.UTF-8",
    "LC_ALL": "tr_TR.UTF-8",
    "HOME": "/nonexistent",
    "USER": "somebody",
    "CPATH": "/nonexistent/include",
    "CXXFLAGS": "-O0",
    "NVCC_APPEND_FLAGS": "-G",
    "NVCC_PREPEND_FLAGS": "-lineinfo",
    "GCC_COLORS": "always",
    "SOURCE_DATE_EPOCH": "1",
    "TMPDIR": "/nonexistent",
}


@pytest.fixture
def other_habits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Another user's variables, umask and PATH, of which none may reach the compiler's output."""
    for name, value in HABITS.items():
        monkeypatch.setenv(name, value)
    folders = os.environ["PATH"].split(":")
    compiler = str(Path(shutil.which("g++") or "").parent)
    monkeypatch.setenv("PATH", ":".join([str(tmp_path), compiler, *reversed(folders)]))
    before = os.umask(0o077)
    yield
    os.umask(before)


def compile_in(place, kind, name, arch, out="out", prebuilt=None):
    return build(
        place,
        catalog(),
        kind,
        name,
        arch,
        out_dir=place / out,
        cache_dir=place / "cache",
        place=Place(HostRuntime()),
        prebuilt=prebuilt,
    )


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("name", "arch", "has", "resident"),
    [
        ("attention_mma_d64", "sm_89", {"HMMA", "LDSM", "LDGSTS"}, {(128, 3 * 2 * 64 * 128, 2, 8)}),
        ("bsr_gemm_wgmma_fp8", "sm_90a", {"QGMMA", "UTMALDG"}, None),
    ],
)
def test_operations_are_counted_as_cuobjdump_shows_them(
    toolchain, tmp_path, name, arch, has, resident
):
    record = build(
        ROOT, load_catalog(ROOT), "variant", name, arch,
        out_dir=tmp_path, cache_dir=tmp_path / "cache", place=Place(HostRuntime()),
    )  # fmt: skip
    assert all(entry.spill_store_bytes == 0 for entry in record.resources)
    tool = toolchain.site / "nvidia" / "cu13" / "bin" / "cuobjdump"
    told = subprocess.run(
        [tool, "-sass", tmp_path / record.artifact.path], capture_output=True, text=True, check=True
    ).stdout
    shown = Counter(re.findall(r"^\s+/\*[0-9a-f]+\*/\s+(?:@\S+ )?([A-Z]+)", told, re.MULTILINE))
    assert record.instructions == {each: shown[each] for each in OPERATIONS.values() if shown[each]}
    assert has <= set(record.instructions)
    if resident is not None:  # docs/l4.md says so
        told = {(o.threads, o.dynamic_shared_bytes, o.blocks, o.warps) for o in record.occupancy}
        assert told == resident


@pytest.mark.compiler
class TestCompiling:
    """Through the real nvcc."""

    def test_a_variant_becomes_a_library(self, tree: Path):
        record = compile_in(tree, "variant", "small", "sm_90a")
        assert record.status == "built" and record.artifact is not None
        file = tree / "out" / record.artifact.path
        assert record.artifact.path == "sm_90a/small.so"
        assert record.artifact.sha256 == sha256_file(file)
        assert read_record(BuildRecord, tree / "out" / "sm_90a" / "small.json") == record
        assert [source.path for source in record.sources] == [
            "kernels/bsr_gemm/scale.cuh",
            "kernels/bsr_gemm/small.cu",
        ]
        (resources,) = record.resources
        assert "scale" in resources.entry
        assert resources.static_shared_bytes == 64 * 4
        assert 0 < resources.registers <= 255
        assert resources.spill_store_bytes == resources.spill_load_bytes == 0
        assert record.toolchain.nvcc == "13.0.88"
        assert not record.built_elsewhere
        library = ctypes.CDLL(str(file))
        assert library.small(None, None) == 1  # cudaErrorInvalidValue, before any device is asked
        assert not hasattr(library, "cudaLaunchKernel"), "its CUDA runtime must stay hidden"

    @pytest.mark.parametrize(
        ("kind", "name", "arch"),
        [
            ("variant", "small", "sm_89"),
            ("probe", "copies", "sm_90a"),
            ("program", "example", "sm_89"),
        ],
    )
    def test_two_checkouts_give_the_same_bytes(
        self, tree: Path, other_tree: Path, other_habits: None, kind: str, name: str, arch: str
    ):
        """In another directory, at another time, by somebody with other settings."""
        with pytest.MonkeyPatch.context() as usual:
            for variable in HABITS:
                usual.delenv(variable, raising=False)
            before = os.umask(0o022)
            one = compile_in(tree, kind, name, arch)
            os.umask(before)
        two = compile_in(other_tree, kind, name, arch)
        assert one.status == "built", one.diagnostics
        assert one.key == two.key
        assert one.cubins and one.cubins == two.cubins
        assert one.artifact is not None and one.artifact == two.artifact
        first, second = (place / "out" / one.artifact.path for place in (tree, other_tree))
        assert first.read_bytes() == second.read_bytes()

    def test_a_refusal_is_a_record(self, tree: Path):
        record = compile_in(tree, "probe", "copies", "sm_75")
        assert record.status == "failed" and record.artifact is None
        assert "cp.async" in record.diagnostics and "sm_80" in record.diagnostics
        assert str(tree) not in record.diagnostics
        assert not list((tree / "out" / "sm_75").glob("*.cubin"))

    def test_the_record_says_whether_asserts_are_compiled_in(self, tree: Path):
        assert compile_in(tree, "probe", "asserting", "sm_90a").asserts is True
        assert compile_in(tree, "probe", "silent", "sm_90a").asserts is False
        assert compile_in(tree, "variant", "small", "sm_90a").asserts is False
        assert compile_in(tree, "probe", "copies", "sm_75").asserts is None


@pytest.mark.compiler
class TestNotCompilingTwice:
    """An existing build is taken over, if and only if it is what this checkout would build."""

    @pytest.fixture
    def no_compiler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(root: Path, place: Place) -> Toolchain:
            raise MissingEnvironment("no compiler here")

        monkeypatch.setattr(building, "ensure_toolchain", refuse)

    def test_the_cache_answers_without_a_compiler(self, tree: Path, no_compiler: None):
        shutil.rmtree(tree / "again", ignore_errors=True)
        with pytest.raises(MissingEnvironment):
            compile_in(tree, "probe", "copies", "sm_120a")
        record = compile_in(tree, "variant", "small", "sm_90a", out="again")
        assert (tree / "again" / "sm_90a" / "small.so").is_file()
        assert not record.built_elsewhere

    @pytest.mark.parametrize("spoiled", ["small.so", "record.json"])
    def test_a_cached_build_that_is_damaged_is_not_taken(self, tree: Path, spoiled: str):
        record = compile_in(tree, "variant", "small", "sm_90a")
        (tree / "cache" / "builds" / record.key / spoiled).write_bytes(b"cut o")
        assert compile_in(tree, "variant", "small", "sm_90a").artifact == record.artifact
        assert sha256_file(tree / "out" / record.artifact.path) == record.artifact.sha256

    def test_prebuilt_artifacts_run_without_a_compiler(self, root, tree, tmp_path, no_compiler):
        built = compile_in(tree, "variant", "small", "sm_90a")
        node = make_tree(root, tmp_path / "node")
        record = compile_in(node, "variant", "small", "sm_90a", prebuilt=tree / "out")
        assert record == built.model_copy(update={"built_elsewhere": True})
        assert (node / "out" / "sm_90a" / "small.so").is_file()
        (node / "kernels" / "bsr_gemm" / "scale.cuh").write_text("#define SCALE 4.0f\n")
        with pytest.raises(MissingEnvironment):
            compile_in(node, "variant", "small", "sm_90a", prebuilt=tree / "out")

    def test_a_changed_prebuilt_artifact_is_refused(self, root, tree, tmp_path, no_compiler):
        compile_in(tree, "variant", "small", "sm_90a")
        forged = tmp_path / "forged"
        shutil.copytree(tree / "out" / "sm_90a", forged / "sm_90a")
        with (forged / "sm_90a" / "small.so").open("ab") as stream:
            stream.write(b"\0")
        node = make_tree(root, tmp_path / "node")
        with pytest.raises(CheckFailed, match="is not the artifact"):
            compile_in(node, "variant", "small", "sm_90a", prebuilt=forged)
