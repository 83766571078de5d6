"""A call of a compiled kernel: which one, on which stream, with which workspace."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from assay.ops.checks import NAMES, Shape, Tensor
from assay.ops.kernel_set import Call, find, missing
from assay.shared.errors import Unsupported
from assay.shared.kernel_choice import Block, Kernel
from assay.shared.launch_abi import OPERANDS, WORKSPACE_BYTES, check_status, load_launcher
from assay.shared.specs import ArtifactSpec

ALIGNMENT = 16
"""Bytes that the kernels' vector and bulk copies ask of matrices; PyTorch's allocator gives 512."""


@functools.cache
def _launcher(kernel: Kernel) -> Callable[..., int]:
    """Return the C launcher; its library's digest is checked once."""
    artifact = ArtifactSpec(kernel.path, kernel.sha256)
    return load_launcher(artifact, kernel.symbol, len(OPERANDS[kernel.operation]))


def block_of(values: Tensor) -> Block:
    """Return rows and columns of the stored blocks."""
    return int(values.shape[1]), int(values.shape[2])


def kernel_for(
    operation: str, n: int, values: Tensor, row_ptr: Tensor, b_values: Tensor | None = None
) -> tuple[Kernel | None, str]:
    """Return the loaded kernel for these operands and their GPU; or None, and why.

    ``values`` and ``row_ptr`` are A's; ``n`` is the number of columns of the result.
    """
    call = Call(
        operation=operation,
        dtype=NAMES.get(values.dtype, str(values.dtype)),
        block=block_of(values),
        block_b=None if b_values is None else block_of(b_values),
        n=n,
        blocks_per_row=values.shape[0] / max(1, row_ptr.shape[0] - 1),
        capability=torch.cuda.get_device_capability(values.device),
    )
    kernel = find(call)
    return kernel, "" if kernel else missing(call)


def launch(kernel: Kernel, operands: Sequence[Tensor], shape: Shape) -> Tensor:
    """Return the result of one launch on the current stream.

    The workspace is PyTorch's memory: freed here, and given out again only behind this launch.
    Raises ValueError for operands that the kernel refuses, RuntimeError for a failure.
    """
    for tensor in operands:
        if tensor.dtype != torch.int32 and tensor.data_ptr() % ALIGNMENT:
            raise ValueError(
                f"a matrix starts at an address that is no multiple of {ALIGNMENT} bytes: "
                "torch.clone gives a copy that does"
            )
    device = operands[0].device
    output = torch.empty((shape.m, shape.n), dtype=shape.dtype, device=device)
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device)
    pointers: list[Any] = [tensor.data_ptr() for tensor in (*operands, output)]
    with torch.cuda.device(device):
        status = _launcher(kernel)(
            *pointers, shape.m, shape.n, shape.k, workspace.data_ptr(), WORKSPACE_BYTES,
            torch.cuda.current_stream(device).cuda_stream,
        )  # fmt: skip
    what = f"{kernel.id} with m = {shape.m}, n = {shape.n}, k = {shape.k}"
    try:
        check_status(status, what)
    except Unsupported as error:
        raise ValueError(f"{error}; kernels/bsr_gemm/README.md says which shapes fit") from error
    return output
