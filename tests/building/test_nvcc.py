"""nvcc's words for a machine that was too small, and ptxas's for products that it serialises."""

import pytest

from assay.building.nvcc import lacked_resources, serialised_products


@pytest.mark.parametrize(
    "log",
    [
        "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\nKilled",
        "/tmp/x.cubin: No space left on device",
        "cc1plus: out of memory allocating 65536 bytes after a total of 1351680 bytes",
        "fork: Cannot allocate memory",
    ],
)
def test_a_compiler_that_was_cut_short(log: str) -> None:
    assert lacked_resources(log)


@pytest.mark.parametrize("log", ["error: expected a ';'", "ptxas fatal   : Unresolved extern"])
def test_a_source_that_does_not_compile(log: str) -> None:
    assert not lacked_resources(log)


DIVERGENT = (
    "ptxas info    : (C7518) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to program dependence on compiler-inserted WG.DP in divergent path in "
    "the function '_ZN6kernelEv'"
)
SCARCE = (
    "ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to insufficient register resources for the function '_ZN6kernelEv'"
)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            DIVERGENT,
            "program dependence on compiler-inserted WG.DP in divergent path (ptxas C7518)",
        ),
        (SCARCE, "insufficient register resources (ptxas C7512)"),
    ],
)
def test_products_that_ptxas_serialises_are_told(line: str, why: str) -> None:
    log = f"ptxas info    : 0 bytes gmem\n{line}\nptxas info    : Used 168 registers"
    assert serialised_products(log) == why


def test_products_that_overlap_are_not() -> None:
    assert serialised_products("ptxas info    : Used 168 registers, used 2 barriers") is None
