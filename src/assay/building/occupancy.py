"""How many blocks of a kernel a multiprocessor holds at a time, by what each of them takes."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.base.errors import BadInput
from assay.building.line_tables import block_threads, symbol_sizes
from assay.building.nvcc import DIAGNOSTIC_LINES, KEEP, Compiled, last_lines, run_nvcc
from assay.building.recipe import Compilation
from assay.building.toolchain import Toolchain
from assay.records.builds import Occupancy


@dataclass(frozen=True)
class Multiprocessor:
    """The limits of one, from "Technical Specifications per Compute Capability" in NVIDIA's CUDA
    C++ Programming Guide.
    """

    threads: int
    blocks: int
    shared_bytes: int


MULTIPROCESSORS = {
    "sm_80": Multiprocessor(2048, 32, 164 * 1024),
    "sm_89": Multiprocessor(1536, 24, 100 * 1024),
    "sm_90a": Multiprocessor(2048, 32, 228 * 1024),
}
WARP = 32
PARTITIONS = 4
"""Of a multiprocessor. A warp's registers are all of one of them."""
PARTITION_REGISTERS = 65536 // PARTITIONS
REGISTER_UNIT = 256
"""A warp gets a multiple of it."""
SHARED_UNIT = 128
"""Bytes; a block gets a multiple of it."""
RESERVED_SHARED_BYTES = 1024
"""Of each block, by the driver. This and the units are of cuda_occupancy.h of CUDA 13.0."""

MARK = "assay_shared_bytes_of_"


def resident_blocks(arch: str, threads: int, registers: int, shared_bytes: int) -> int:
    """Return how many blocks fit; 0 where not even one does.

    ``registers``: of a thread; ``shared_bytes``: of a block, static and dynamic.
    """
    limits = MULTIPROCESSORS[arch]
    warps = -(-threads // WARP)
    of_a_warp = _rounded(registers * WARP, REGISTER_UNIT)
    return min(
        limits.blocks,
        limits.threads // (warps * WARP),
        PARTITION_REGISTERS // of_a_warp * PARTITIONS // warps,
        limits.shared_bytes // _rounded(shared_bytes + RESERVED_SHARED_BYTES, SHARED_UNIT),
    )


def _rounded(count: int, unit: int) -> int:
    return -(-count // unit) * unit


def occupancy(
    job: Compilation, outcome: Compiled, constants: Mapping[str, str], toolchain: Toolchain
) -> tuple[Occupancy, ...] | None:
    """Return that of each kernel whose launch is known, while its build directory is there; None
    for PTX, or without ``constants`` (``dynamic_shared`` of kernel.yaml).

    Raises BadInput for a constant that the source does not have.
    """
    if outcome.artifact is None or not constants or job.arch not in MULTIPROCESSORS:
        return None
    keep = outcome.artifact.parent / KEEP
    threads = block_threads((keep / each.path).read_bytes() for each in outcome.cubins)
    dynamic = _shared_bytes(job, outcome, constants, toolchain)
    found = []
    for each in outcome.resources:
        names = [name for name in constants if f"{len(name)}{name}" in each.entry]
        if not names or each.entry not in threads:
            continue
        block, extra = threads[each.entry], dynamic[names[0]]
        blocks = resident_blocks(job.arch, block, each.registers, each.static_shared_bytes + extra)
        found.append(
            Occupancy(
                entry=each.entry,
                threads=block,
                dynamic_shared_bytes=extra,
                blocks=blocks,
                warps=blocks * -(-block // WARP),
            )
        )
    return tuple(found)


def _shared_bytes(
    job: Compilation, outcome: Compiled, constants: Mapping[str, str], toolchain: Toolchain
) -> dict[str, int]:
    """Return each kernel's dynamic shared bytes, asked of the host compiler as sizes of arrays."""
    assert outcome.artifact is not None
    directory = outcome.artifact.parent
    (host,) = (directory / KEEP).glob("*.cudafe1.cpp")
    arrays = [f"char {MARK}{name}[1 + {value}];" for name, value in constants.items()]
    source = f"{KEEP}/launches.cpp"
    (directory / source).write_text(f'{host.read_text()}\nextern "C" {{ {" ".join(arrays)} }}\n')
    compiled = f"{KEEP}/launches.o"
    command = ("nvcc", "-ccbin", "g++", "-std=c++17", f"-I{KEEP}", "-c", source, "-o", compiled)
    label = f"launches of {job.id} for {job.arch}"
    done, text = run_nvcc(command, directory, toolchain, label)
    if done.exit_code != 0:
        raise BadInput(f"dynamic_shared of {job.id}: {last_lines(text, DIAGNOSTIC_LINES)}")
    sizes = symbol_sizes((directory / compiled).read_bytes())
    return {name: sizes[MARK + name] - 1 for name in constants}
