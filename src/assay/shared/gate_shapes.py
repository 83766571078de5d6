"""The shapes that the gate checks a kernel at beside the timed one. Pure."""

import dataclasses

from assay.shared.specs import WorkloadSpec

REPEAT_SEED = 1_000_003
"""Added to a seed for the second contents of the same buffers."""
RAGGED_GRID = (7, 5)
"""Block rows and columns of the ragged shape: rows of every length from none to full, two of them
empty, and an odd number of rows for kernels that take several at a time."""
RAGGED_N = 256
UNALIGNED_N = 200
"""A multiple of 8, so that rows stay 16-byte aligned, and of no tile."""
LARGE_M, LARGE_K, LARGE_N = 9_000, 8_400, 1032
"""Elements at most: several tiles for each multiprocessor, over 128 columns of the smallest blocks,
a last tile of C that is neither the first nor whole."""
MANY_BLOCK_ROWS = 1030
"""More than a kernel sorts in shared memory."""
MANY_BLOCKS_M = 140_000
"""Rows at most that this may come to: higher blocks would take gigabytes."""
UNALIGNED_M = 1000
"""Rows of a matrix that is loaded: of no tile either."""


def small_shapes(workload: WorkloadSpec) -> list[tuple[str, WorkloadSpec, bool]]:
    """(check, workload, ragged) of the extra shapes that a kernel of this operation is given."""
    pattern, other = workload.pattern, workload.pattern_b
    if workload.operation == "tma_load":
        return [("unaligned", dataclasses.replace(workload, m=UNALIGNED_M, k=UNALIGNED_N), False)]
    if pattern is None or not workload.operation.endswith("gemm"):
        return []
    rows, cols = RAGGED_GRID
    n = RAGGED_N if other is None else 3 * other.block_cols
    small = dataclasses.replace(
        workload,
        m=rows * pattern.block_rows,
        k=cols * pattern.block_cols,
        n=n,
        # Fewer columns than the workload's own, so that every pattern fits the small grid.
        pattern=dataclasses.replace(pattern, blocks_per_row=2),
        pattern_b=other and dataclasses.replace(other, blocks_per_row=2),
    )
    shapes = [("ragged", small, True)]
    if other is None:
        shapes.append(("unaligned", dataclasses.replace(small, n=UNALIGNED_N), False))
    return shapes


def large_shapes(workload: WorkloadSpec) -> list[tuple[str, WorkloadSpec]]:
    """(check, workload) of shapes that take the paths which small ones leave untaken, all ragged.

    Of a sparse A times a dense B; other operations have none.
    """
    pattern = workload.pattern
    if pattern is None or workload.operation != "bsr_gemm":
        return []
    height, width = pattern.block_rows, pattern.block_cols
    even = dataclasses.replace(pattern, blocks_per_row=1)

    def shape(rows: int, cols: int, n: int) -> WorkloadSpec:
        m, k = rows * height, cols * width
        return dataclasses.replace(workload, m=m, k=k, n=n, pattern=even)

    shapes = [("rounds", shape(LARGE_M // height, LARGE_K // width, LARGE_N))]
    if MANY_BLOCK_ROWS * height <= MANY_BLOCKS_M:
        shapes.append(("many_rows", shape(MANY_BLOCK_ROWS, RAGGED_GRID[1], 8)))
    return shapes
