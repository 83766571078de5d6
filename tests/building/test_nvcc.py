"""ptxas's words: resources of kernels, and what it refuses."""

from assay.building.nvcc import last_lines, parse_ptxas
from assay.records.builds import KernelResources

PTXAS = """\
ptxas info    : 1 bytes gmem
ptxas info    : Compiling entry function '_Z3onev' for 'sm_89'
ptxas info    : Function properties for _Z3onev
    96 bytes stack frame, 84 bytes spill stores, 92 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 96 bytes cumulative stack size, 2048 bytes smem
ptxas info    : Compile time = 4.386 ms
ptxas info    : Function properties for _Z6helperv
    16 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads
ptxas info    : Compiling entry function '_Z3twov' for 'sm_89'
ptxas info    : Function properties for _Z3twov
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _Z6helperv
    16 bytes stack frame, 3 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""


def resources(entry: str, *values: int) -> KernelResources:
    fields = (
        "registers",
        "stack_bytes",
        "spill_store_bytes",
        "spill_load_bytes",
        "static_shared_bytes",
    )
    return KernelResources(entry=entry, **dict(zip(fields, values, strict=True)))


def test_ptxas_resources_belong_to_entries_not_to_helpers():
    assert parse_ptxas(PTXAS) == (
        resources("_Z3onev", 255, 96, 84, 92, 2048),
        resources("_Z3twov", 8, 0, 0, 0, 0),
    )


def test_diagnostics_leave_out_where_ptxas_was():
    assert last_lines(f"{PTXAS}\nerror: this\nfatal: that\n", 2) == "error: this\nfatal: that"
