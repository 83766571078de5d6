"""The shapes that the gate checks a kernel at beside the timed one. Pure."""

from dataclasses import replace
from typing import Literal

from assay.shared.specs import PatternSpec, WorkloadSpec

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
LARGE_LOGITS = 8.0
"""Standard deviation of the scores: maxima near 30, of which a row finds greater ones block by
block, so that what was summed before is rescaled."""
UNSELECTED_COLUMNS = 24
"""Block columns, of which seven rows of two blocks select about half."""
REGULAR = "regular"
"""The shape that the gate has no name for: rows of one length."""
SANITIZED = 512
"""Largest extent under compute-sanitizer of a problem that has no small shapes of its own."""
UNALIGNED_M = 1000
"""Rows of a matrix that is loaded: of no tile either."""


def small_shapes(workload: WorkloadSpec) -> list[tuple[str, WorkloadSpec, bool]]:
    """(check, workload, ragged) of the extra shapes that a kernel of this operation is given."""
    pattern, other = workload.pattern, workload.pattern_b
    if workload.small:
        parameters = {**workload.parameters, **workload.small}
        return [("small", replace(workload, parameters=parameters), False)]
    if workload.operation == "tma_load":
        return [("unaligned", replace(workload, m=UNALIGNED_M, k=UNALIGNED_N), False)]
    if pattern is not None and workload.attends:
        return _attention_shapes(workload, pattern)
    if pattern is None or not workload.operation.endswith("gemm"):
        return []
    rows, cols = RAGGED_GRID
    n = RAGGED_N if other is None else 3 * other.block_cols
    # Fewer columns than the workload's own, so that every pattern fits the small grid.
    sparse = replace(pattern, blocks_per_row=2), other and replace(other, blocks_per_row=2)
    m, k = rows * pattern.block_rows, cols * pattern.block_cols
    small = replace(workload, m=m, k=k, n=n, pattern=sparse[0], pattern_b=sparse[1])
    shapes = [("ragged", small, True)]
    if other is None:
        shapes.append(("unaligned", replace(small, n=UNALIGNED_N), False))
    return shapes


def sanitized_shapes(workload: WorkloadSpec) -> list[tuple[str, WorkloadSpec, bool]]:
    """(shape, workload, ragged) that compute-sanitizer sees a kernel at: a regular one before those
    of ``small_shapes``, but for a callable's own problem, which has the small one it names.
    """
    shapes = small_shapes(workload)
    if workload.operation == "callable":
        return shapes or [(REGULAR, workload, False)]
    if shapes and shapes[0][2]:
        return [(REGULAR, shapes[0][1], False), *shapes]
    cut = {name: min(getattr(workload, name), SANITIZED) for name in ("m", "n", "k")}
    return [(REGULAR, replace(workload, **cut), False), *shapes]


def _attention_shapes(
    workload: WorkloadSpec, pattern: PatternSpec
) -> list[tuple[str, WorkloadSpec, bool]]:
    """Shapes of block-sparse attention, two batches and four heads each: rows of every length,
    lengths of no whole block, shared heads in the other layout, a window that cuts blocks, scores
    that keep growing, and NaN in keys that nobody selects.
    """
    rows, cols = RAGGED_GRID
    height, width = pattern.block_rows, pattern.block_cols
    small = replace(
        workload, batch=2, heads=4, kv_heads=0, seq_q=rows * height, seq_kv=cols * width,
        pattern=replace(pattern, kind="random", blocks_per_row=2),
        window_left=None, window_right=None, scaled_blocks=workload.attends_in_fp8,
    )  # fmt: skip
    cut = replace(small, seq_q=rows * height - 24, seq_kv=cols * width - 40)
    sliding = replace(pattern, kind="sliding_window", blocks_per_row=3)
    square = replace(small, seq_kv=rows * width, pattern=sliding)
    wide = replace(small, seq_kv=UNSELECTED_COLUMNS * width, poison_unselected=True)
    # Nearly one key counts: the output is as large as V, and rounds by as much as a bound may ask.
    large = replace(small, logit_scale=LARGE_LOGITS, max_abs_tolerance=None)
    other: Literal["bhsd", "bshd"] = "bhsd" if workload.layout == "bshd" else "bshd"
    return [
        ("ragged", small, True),
        ("unaligned", cut, True),
        ("shared_heads", replace(small, kv_heads=2, layout=other), True),
        ("window", replace(square, window_left=2 * width - 5, window_right=0), False),
        ("large_logits", large, True),
        ("unselected", wide, False),
    ]


def large_shapes(workload: WorkloadSpec) -> list[tuple[str, WorkloadSpec]]:
    """(check, workload) of shapes that take the paths which small ones leave untaken, all ragged.

    Of a sparse A times a dense B; other operations have none.
    """
    pattern = workload.pattern
    if pattern is None or workload.operation != "bsr_gemm":
        return []
    height, width = pattern.block_rows, pattern.block_cols
    even = replace(pattern, blocks_per_row=1)

    def shape(rows: int, cols: int, n: int) -> WorkloadSpec:
        m, k = rows * height, cols * width
        return replace(workload, m=m, k=k, n=n, pattern=even)

    shapes = [("rounds", shape(LARGE_M // height, LARGE_K // width, LARGE_N))]
    if MANY_BLOCK_ROWS * height <= MANY_BLOCKS_M:
        shapes.append(("many_rows", shape(MANY_BLOCK_ROWS, RAGGED_GRID[1], 8)))
    return shapes
