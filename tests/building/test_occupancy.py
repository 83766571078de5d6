"""Resident blocks by NVIDIA's rules: by hand, and of real kernels of this repository."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.building.build import build
from assay.building.occupancy import resident_blocks
from assay.building.toolchain import Toolchain
from assay.catalog.load import load_catalog
from assay.runtimes.base import Place
from assay.runtimes.host import HostRuntime

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks"),
    [
        # Nothing but the number of blocks, then of threads, bounds small kernels.
        ("sm_80", 32, 16, 0, 32),
        ("sm_89", 32, 16, 0, 24),
        ("sm_90a", 256, 32, 0, 8),
        ("sm_89", 256, 32, 0, 6),
        # 1000 threads are 32 warps.
        ("sm_89", 1000, 32, 0, 1),
        # Registers: 100 * 32 are 3328 of a warp, four warps a partition, sixteen in all.
        ("sm_80", 128, 100, 0, 4),
        ("sm_90a", 96, 100, 0, 5),
        # 255 registers: two warps a partition; 384 threads are twelve warps, and eight fit.
        ("sm_90a", 256, 255, 0, 1),
        ("sm_90a", 384, 255, 0, 0),
        # Shared memory: 49152 + 1024 twice in 100 KiB, three times in 164, four in 228.
        ("sm_89", 128, 64, 49152, 2),
        ("sm_80", 128, 64, 49152, 3),
        ("sm_90a", 128, 64, 49152, 4),
        # All of a block's most; a byte more is 128 more.
        ("sm_89", 128, 64, 99 * 1024, 1),
        ("sm_89", 128, 64, 99 * 1024 + 1, 0),
        ("sm_89", 128, 64, 49 * 1024, 2),
        ("sm_89", 128, 64, 49 * 1024 + 1, 1),
    ],
)
def test_by_hand(arch: str, threads: int, registers: int, shared: int, blocks: int) -> None:
    assert resident_blocks(arch, threads, registers, shared) == blocks


def test_each_source_of_ours_says_how_its_kernels_are_launched() -> None:
    catalog = load_catalog(ROOT)
    kernels = (each for each in catalog.variants.values() if each.kind == "kernel")
    sources = {f"kernels/{catalog.kernel_folder[each.id]}/{each.source}" for each in kernels}
    assert catalog.dynamic_shared.keys() == sources


def built(name, arch, folder, dynamic_shared=None):
    catalog = load_catalog(ROOT)
    if dynamic_shared is not None:
        catalog.dynamic_shared["kernels/tma_load/load_tiles.cu"] = dynamic_shared
    return build(
        ROOT, catalog, "variant", name, arch,
        out_dir=folder, cache_dir=folder / "cache", place=Place(HostRuntime()),
    )  # fmt: skip


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("name", "arch", "expected"),
    [
        # Three stages of K and V, 64 keys of 128 fp16 each. docs/l4.md says so.
        ("attention_mma_d128", "sm_89", {"attention_mma": (256, 3 * 2 * 64 * 256, 1, 8)}),
        # Three launches, one of which takes none.
        (
            "attention_backward_d64",
            "sm_90a",
            {"rows": (256, 0, 8, 64), "keys": (384, 215296, 1, 12), "sums": (256, 0, 8, 64)},
        ),
    ],
)
def test_of_a_build(toolchain, tmp_path, name, arch, expected):
    record = built(name, arch, tmp_path)
    assert {each.entry for each in record.occupancy} == {each.entry for each in record.resources}
    for kernel, figures in expected.items():
        (found,) = [each for each in record.occupancy if f"{kernel}_kernel" in each.entry]
        told = (found.threads, found.dynamic_shared_bytes, found.blocks, found.warps)
        assert told == figures


@pytest.mark.compiler
def test_what_is_not_known_is_not_said(toolchain: Toolchain, tmp_path: Path) -> None:
    name = "load_cooperative"
    unsaid = built(name, "sm_89", tmp_path / "unsaid", dynamic_shared={})
    assert unsaid.status == "built" and unsaid.occupancy is None
    assert built(name, "compute_89", tmp_path / "ptx").occupancy is None
    of_another = built(name, "sm_89", tmp_path / "other", dynamic_shared={"another_kernel": "0"})
    assert of_another.occupancy == ()
    with pytest.raises(BadInput, match="kGone"):
        built(name, "sm_89", tmp_path / "gone", dynamic_shared={"load_tiles_kernel": "kGone"})
