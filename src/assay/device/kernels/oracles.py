"""Oracles: each operation in float64 on upcast inputs, written for clarity and not for speed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from assay.device.kernels.attention_oracle import attend, differentiate
from assay.device.kernels.inputs import Inputs, Tensor
from assay.shared import flops
from assay.shared.specs import WorkloadSpec
from assay.shared.stored_blocks import Blocks

CHUNK_BYTES = 2**30
"""Largest float64 temporary; scores and their exponentials need two or three of them at once."""

ONE_ELEMENT = 10.0
"""How much further off one element may be than all together. Of normal rounding errors the largest
among 10^9 lies six times their spread away."""


@dataclass(frozen=True)
class Errors:
    """The distances of an output from its oracle; None where one alone is NaN or infinite."""

    relative: float | None
    max_abs: float | None
    worst: float = 0.0
    """Largest |out - oracle| / (|oracle| + root mean square of all of it); 0 where elements are not
    asked one by one."""

    def beyond(self, workload: WorkloadSpec) -> str:
        """Return which of the workload's criteria does not hold, with its limit, or ""; an error
        that is not finite holds none.
        """
        if self.relative is None or self.max_abs is None:
            return "the output holds NaN or infinities, or differs from an oracle of zeros"
        limits = (
            (self.relative, workload.relative_tolerance, "relative error"),
            (self.max_abs, workload.max_abs_tolerance, "largest absolute error"),
            (self.worst, ONE_ELEMENT * workload.relative_tolerance, "error of one element"),
        )
        found = (
            f"{name} {error:.3g}, tolerated {most:g}"
            for error, most, name in limits
            if most is not None and not error <= most
        )
        return next(found, "")


def errors_of(inputs: Inputs, output: Tensor, right: Tensor) -> Errors:
    """Return the errors of an output of ``inputs``: of each element, too, where these are rounded
    sums. Attention has a rule of its own for them; whole numbers may be another for a tie. Of
    gradients, the greatest that one by Q, K or V has.
    """
    w, case = inputs.workload, inputs.case
    if w.differentiates:
        found = errors_by_gradient(inputs, output, right).values()
        relative, absolute = [e.relative for e in found], [e.max_abs for e in found]
        return Errors(_greatest(relative), _greatest(absolute), max(e.worst for e in found))
    each = not w.attends and (case is None or case.real)
    return measure_errors(output, right, each=each)


def errors_by_gradient(inputs: Inputs, output: Tensor, right: Tensor) -> dict[str, Errors]:
    """Return the errors of the gradients by Q, K and V, each measured by its own size."""
    pairs = zip(inputs.gradients(output), inputs.gradients(right), strict=True)
    found = (measure_errors(mine, theirs, each=True) for mine, theirs in pairs)
    return dict(zip(("dQ", "dK", "dV"), found, strict=True))


def _greatest(errors: Sequence[float | None]) -> float | None:
    """Return the greatest; None where one is."""
    known = [each for each in errors if each is not None]
    return max(known) if len(known) == len(errors) else None


def measure_errors(output: Tensor, oracle: Tensor, *, each: bool = False) -> Errors:
    """Return relative Frobenius error and largest absolute difference of two tensors of one shape;
    with ``each``, how far off the worst element is.

    Where the oracle itself is NaN or infinite, the output must be the same, and the rest is
    compared; an oracle that is so everywhere has no errors. An oracle of zeros has no relative
    error unless the output is all zeros as well (then 0).
    """
    if tuple(output.shape) != tuple(oracle.shape):
        raise ValueError(f"output is {tuple(output.shape)}, oracle {tuple(oracle.shape)}")
    difference = output.float() - oracle
    norm, size = (
        float(torch.linalg.vector_norm(tensor, dtype=torch.float64))
        for tensor in (difference, oracle)
    )
    distance = difference.abs_()
    max_abs = float(distance.max())
    if not (math.isfinite(norm) and math.isfinite(size) and math.isfinite(max_abs)):
        return _at_known_places(output.float(), oracle, each)
    if size == 0.0:
        return Errors(0.0 if norm == 0.0 else None, max_abs)
    mean = size / math.sqrt(oracle.numel())
    worst = float(distance.div_(oracle.abs().add_(mean)).max()) if each else 0.0
    return Errors(norm / size, max_abs, worst)


def _at_known_places(output: Tensor, oracle: Tensor, each: bool) -> Errors:
    """Return the errors where an oracle is finite, if the output is as the oracle elsewhere."""
    unknown = ~oracle.isfinite()
    same = (output == oracle) | (output.isnan() & oracle.isnan())
    some = bool(unknown.any()) and not bool(unknown.all())
    if not some or not bool(same[unknown].all()):
        return Errors(None, None)
    return measure_errors(*(part.masked_fill(unknown, 0) for part in (output, oracle)), each=each)


def oracle(inputs: Inputs) -> Tensor:
    """Return what a launch computes, in float32 (rounded from float64), in the output's shape.

    That is the right answer, but for a sparse B whose columns do not rise: there it is what a
    program computes that looks for blocks by binary search (``true_product`` has the right answer).
    """
    t, w = inputs.tensors, inputs.workload
    if inputs.case is not None:
        return inputs.case.right(t)
    if w.differentiates:
        return differentiate(inputs)
    if w.attends:
        return attend(inputs).output
    result = torch.zeros(inputs.output_shape(), dtype=torch.float32, device=inputs.device)
    match w.operation:
        case "dense_gemm":
            _dense(t["a"], t["b"], result)
        case "grouped_gemm":
            for a, b, product in zip(t["a"], t["b"], result, strict=True):
                _dense(a, b, product)
        case "bsr_gemm":
            _bsr(_known(inputs.blocks), t["a_values"], widened(t["b"]), result)
        case "bsr_bsr_gemm":
            found = _found_blocks(_known(inputs.blocks_b), widened(t["b_values"]), (w.k, w.n))
            _bsr(_known(inputs.blocks), t["a_values"], found, result)
        case "tma_load":
            _tile_sums(t["a"], result)
        case _:
            raise ValueError(f"no oracle for operation '{w.operation}'")
    return result


def true_product(inputs: Inputs) -> Tensor:
    """Return A B of a ``bsr_bsr_gemm``, in float32. Blocks that are stored twice add up."""
    t, w = inputs.tensors, inputs.workload
    result = torch.zeros(inputs.output_shape(), dtype=torch.float32, device=inputs.device)
    dense_b = densify(_known(inputs.blocks_b), widened(t["b_values"]), (w.k, w.n))
    _bsr(_known(inputs.blocks), t["a_values"], dense_b, result)
    return result


def widened(tensor: Tensor) -> Tensor:
    """Return a tensor in float64; 8-bit floats by way of float32, as any PyTorch can."""
    return tensor.float().double() if tensor.element_size() == 1 else tensor.double()


def _known(blocks: Blocks | None) -> Blocks:
    if blocks is None:
        raise ValueError("this operation needs a pattern")
    return blocks


def densify(blocks: Blocks, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Return the whole matrix, cut to ``shape``. Blocks that are stored twice add up."""
    bm, bk = blocks.block_rows, blocks.block_cols
    grid = values.new_zeros(blocks.grid_rows, bm, blocks.grid_cols, bk)
    for row, begin, end in blocks.rows():
        columns = _index(blocks, begin, end, values.device)
        grid[row].index_add_(1, columns, values[begin:end].transpose(0, 1))
    return grid.reshape(blocks.grid_rows * bm, blocks.grid_cols * bk)[: shape[0], : shape[1]]


def _found_blocks(blocks: Blocks, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """As ``densify``, of the blocks that a binary search finds: one at a place, or none.

    What is found hangs on the row and the column alone, and not on which block of A asks.
    """
    found = torch.from_numpy(blocks.found()).to(values.device).long()
    # One more block than is stored: the zeros that stand where -1 is.
    stored = torch.cat([values, values.new_zeros(1, *values.shape[1:])])
    height, width = found.shape[0] * blocks.block_rows, found.shape[1] * blocks.block_cols
    return stored[found].transpose(1, 2).reshape(height, width)[: shape[0], : shape[1]]


def _index(blocks: Blocks, begin: int, end: int, device: Any) -> Tensor:
    return torch.from_numpy(blocks.col_idx[begin:end].astype("int64")).to(device)


def _dense(a: Tensor, b: Tensor, result: Tensor) -> None:
    """result[m,n] = a[m,k] b[k,n], some rows at a time."""
    wide = widened(b)
    step = max(1, CHUNK_BYTES // (8 * max(a.shape[1], b.shape[1])))
    for begin in range(0, a.shape[0], step):
        result[begin : begin + step] = widened(a[begin : begin + step]) @ wide


def _bsr(blocks: Blocks, values: Tensor, b: Tensor, result: Tensor) -> None:
    """result[m,n] = A b, one block row of A at a time; b is dense float64 [k,n]."""
    bm, bk = blocks.block_rows, blocks.block_cols
    width = blocks.grid_cols * bk
    if width > b.shape[0]:
        # A last block column may reach beyond k: what it holds there meets zeros.
        b = torch.cat([b, b.new_zeros(width - b.shape[0], b.shape[1])])
    inside = torch.arange(bk, device=b.device)
    for row, begin, end in blocks.rows():
        strip = widened(values[begin:end]).transpose(0, 1).reshape(bm, (end - begin) * bk)
        columns = (_index(blocks, begin, end, b.device)[:, None] * bk + inside).flatten()
        top, bottom = row * bm, min((row + 1) * bm, result.shape[0])
        result[top:bottom] = strip[: bottom - top] @ b[columns]


def _tile_sums(a: Tensor, result: Tensor) -> None:
    """result[j,i] = sum of row i over the columns of tile j; the last tile may be narrower."""
    step = max(1, CHUNK_BYTES // (8 * a.shape[1]))
    for begin in range(0, a.shape[0], step):
        rows = a[begin : begin + step].double()
        for tile, columns in enumerate(rows.split(flops.LOAD_TILE_COLS, dim=1)):
            result[tile, begin : begin + step] = columns.sum(dim=1)
