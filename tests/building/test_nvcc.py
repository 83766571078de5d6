"""nvcc's words for a machine that was too small."""

import pytest

from assay.building.nvcc import lacked_resources


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
