"""Definition of the operators: schemas, CPU and CUDA implementations, fake ones, gradients.

    assay::bsr_gemm              C = A B, A in BSR, B dense
    assay::bsr_bsr_gemm          C = A B, both in BSR, C dense
    assay::bsr_gemm_transposed   C = A^T B, A in BSR, B dense: the gradient by B
    assay::bsr_sampled           the blocks of L R^T that a pattern stores: the gradient by A

The gradients are operators of their own, so that torch.compile need not look into them; they have
no gradients in turn.
"""

from collections.abc import Sequence
from typing import Any

from assay.ops import reference
from assay.ops.checks import (
    FP8,
    NoKernel,
    Shape,
    Tensor,
    check_bsr_bsr,
    check_gemm,
    check_sampled,
    check_transposed,
)
from assay.ops.definition import define
from assay.ops.launch import kernel_for, launch

BSR = "Tensor {0}_values, Tensor {0}_row_ptr, Tensor {0}_col_idx"
A, B = BSR.format("a"), BSR.format("b")


def _by_kernel(
    operation: str, shape: Shape, operands: Sequence[Tensor], b_values: Tensor | None = None
) -> Tensor:
    """Return the product by the loaded kernel. Raises NoKernel."""
    a_values = operands[0]
    kernel, why_not = kernel_for(operation, shape.n, a_values, operands[1], b_values)
    if kernel is None:
        raise NoKernel(why_not)
    if _is_zero(shape, a_values) or (b_values is not None and b_values.shape[0] == 0):
        return a_values.new_zeros((shape.m, shape.n), dtype=shape.dtype)
    return launch(kernel, operands, shape)


def _empty(shape: Shape, like: Tensor) -> Tensor:
    return like.new_empty((shape.m, shape.n), dtype=shape.dtype)


def _gemm_cpu(*operands: Tensor) -> Tensor:
    check_gemm(*operands)
    return reference.product(*operands)


def _gemm_cuda(*operands: Tensor) -> Tensor:
    return _by_kernel("bsr_gemm", check_gemm(*operands), operands)


def _gemm_fake(*operands: Tensor) -> Tensor:
    return _empty(check_gemm(*operands), operands[0])


def _bsr_bsr_cpu(*operands: Any) -> Tensor:
    check_bsr_bsr(*operands)
    return reference.sparse_product(*operands)


def _bsr_bsr_cuda(*operands: Any) -> Tensor:
    return _by_kernel("bsr_bsr_gemm", check_bsr_bsr(*operands), operands[:6], operands[3])


def _bsr_bsr_fake(*operands: Any) -> Tensor:
    return _empty(check_bsr_bsr(*operands), operands[0])


def _is_zero(shape: Shape, a_values: Tensor) -> bool:
    """Nothing to multiply: a kernel would be given an address that is none."""
    return bool(a_values.shape[0] == 0 or shape.m == 0 or shape.n == 0)


def _transposed(
    a_values: Tensor, a_row_ptr: Tensor, a_col_idx: Tensor, b: Tensor, k: Any
) -> Tensor:
    """By a kernel that takes A^T's blocks where one is loaded, else by the matrix library."""
    shape = check_transposed(a_values, a_row_ptr, a_col_idx, b, k)
    block_cols = k // a_values.shape[2]
    if a_values.device.type == "cpu":
        reference.check_pattern(a_row_ptr, a_col_idx, block_cols)
    arrays = reference.transposed(a_values, a_row_ptr, a_col_idx, block_cols)
    if a_values.device.type == "cuda":
        kernel, _ = kernel_for("bsr_gemm", shape.n, *arrays[:2])
        if kernel is not None and not _is_zero(shape, a_values):
            return launch(kernel, (*arrays, b), shape)
    return reference.product(*arrays, b)


def _transposed_fake(*operands: Any) -> Tensor:
    return _empty(check_transposed(*operands), operands[0])


def _sampled(
    left: Tensor, right: Tensor, row_ptr: Tensor, col_idx: Tensor, rows: Any, cols: Any
) -> Tensor:
    check_sampled(left, right, row_ptr, col_idx, rows, cols)
    if left.device.type == "cpu":
        reference.check_pattern(row_ptr, col_idx, right.shape[0] // cols)
    return reference.sampled(left, right, row_ptr, col_idx, rows, cols)


def _sampled_fake(
    left: Tensor, right: Tensor, row_ptr: Tensor, col_idx: Tensor, rows: Any, cols: Any
) -> Tensor:
    check_sampled(left, right, row_ptr, col_idx, rows, cols)
    return left.new_empty((col_idx.shape[0], rows, cols))


def _remember_gemm(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _refuse_fp8(inputs[0])
    ctx.save_for_backward(*inputs)


def _gemm_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """A's gradient where A stores blocks, B's dense; the pattern has none."""
    values, row_ptr, col_idx, b = ctx.saved_tensors
    grad, by_a, by_b = grad.contiguous(), None, None
    if ctx.needs_input_grad[0]:
        by_a = sampled(grad, b, row_ptr, col_idx, values.shape[1], values.shape[2])
    if ctx.needs_input_grad[3]:
        by_b = gemm_transposed(values, row_ptr, col_idx, grad, b.shape[0])
    return by_a, None, None, by_b


def _remember_bsr_bsr(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _refuse_fp8(inputs[0])
    ctx.save_for_backward(*inputs[:6])
    ctx.n = inputs[6]


def _bsr_bsr_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients where each matrix stores blocks, by a dense B or a dense gradient."""
    a, a_row_ptr, a_col_idx, b, b_row_ptr, b_col_idx = ctx.saved_tensors
    grad, by_a, by_b = grad.contiguous(), None, None
    if ctx.needs_input_grad[0]:
        dense = reference.densify(b, b_row_ptr, b_col_idx, ctx.n)
        by_a = sampled(grad, dense, a_row_ptr, a_col_idx, a.shape[1], a.shape[2])
    if ctx.needs_input_grad[3]:
        k = (b_row_ptr.shape[0] - 1) * b.shape[1]
        dense = gemm_transposed(a, a_row_ptr, a_col_idx, grad, k)
        by_b = reference.blocks_at(dense, b_row_ptr, b_col_idx, b.shape)
    return by_a, None, None, by_b, None, None, None


def _refuse_fp8(values: Tensor) -> None:
    if values.dtype == FP8:
        raise RuntimeError(
            "FP8 products have no gradient here: detach the operands, or multiply in bfloat16"
        )


gemm = define("bsr_gemm", f"({A}, Tensor b) -> Tensor", _gemm_cpu, _gemm_fake, _gemm_cuda)
bsr_bsr = define(
    "bsr_bsr_gemm", f"({A}, {B}, SymInt n) -> Tensor", _bsr_bsr_cpu, _bsr_bsr_fake, _bsr_bsr_cuda
)
gemm_transposed = define(
    "bsr_gemm_transposed", f"({A}, Tensor b, SymInt k) -> Tensor", _transposed, _transposed_fake
)
SAMPLED = (
    "(Tensor left, Tensor right, Tensor row_ptr, Tensor col_idx, SymInt block_rows, "
    "SymInt block_cols) -> Tensor"
)
sampled = define("bsr_sampled", SAMPLED, _sampled, _sampled_fake)
gemm.register_autograd(_gemm_backward, setup_context=_remember_gemm)
bsr_bsr.register_autograd(_bsr_bsr_backward, setup_context=_remember_bsr_bsr)
