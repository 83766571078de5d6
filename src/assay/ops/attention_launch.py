"""Launches of compiled attention kernels: nothing is read back, planned or waited for."""

import ctypes
import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from assay.ops.attention_arguments import AttentionArguments, dtype_name, empty_like, empty_lse
from assay.ops.checks import NoKernel, Tensor
from assay.ops.fp8_blocks import operands
from assay.ops.kernel_set import Call, find, missing
from assay.ops.launch import ALIGNMENT
from assay.shared.attention_call import (
    ABI,
    BACKWARD_ABI,
    COLUMNS,
    FP8_ABI,
    STRUCTURES,
    AttentionLauncher,
    AttentionSizes,
    attention_backward_call,
    attention_call,
    forward_call,
    open_attention,
    strides_of,
)
from assay.shared.errors import Unsupported
from assay.shared.kernel_choice import Kernel
from assay.shared.launch_abi import check_status, checked_library
from assay.shared.specs import ArtifactSpec

OPERATION = "block_sparse_attention"
BACKWARD = "block_sparse_attention_backward"
FP8 = "float8_e4m3"


@functools.cache
def _launcher(kernel: Kernel) -> AttentionLauncher:
    """Return the C launcher; its library's digest is checked once."""
    artifact = ArtifactSpec(kernel.path, kernel.sha256)
    abi = FP8_ABI if kernel.dtype == FP8 else ABI
    structure = STRUCTURES[BACKWARD_ABI if kernel.operation == BACKWARD else abi]
    return open_attention(checked_library(artifact), kernel.symbol, structure)


def _wanted(operation: str, call: AttentionArguments, dtype: str | None = None) -> Call:
    head_dim, capability = call.q.shape[3], torch.cuda.get_device_capability(call.q.device)
    return Call(
        operation, dtype or dtype_name(call.q), (call.block, call.block), None, n=head_dim,
        blocks_per_row=None, capability=capability, head_dim=head_dim,
    )  # fmt: skip


def attention_kernel(call: AttentionArguments, dtype: str | None = None) -> Kernel:
    """Return the loaded kernel for a call, of ``dtype`` or the call's type. Raises NoKernel."""
    wanted = _wanted(OPERATION, call, dtype)
    kernel = find(wanted)
    if kernel is None:
        raise NoKernel(missing(wanted))
    return kernel


def launch_attention(call: AttentionArguments) -> tuple[Tensor, Tensor]:
    """Return the results of one launch on the current stream: as ``q``, and float32 sums.

    The workspace is PyTorch's memory: freed here, and given out again only behind this launch.
    Raises NoKernel where none is for the case, ValueError for what a kernel refuses, RuntimeError
    for a failure.
    """
    kernel = attention_kernel(call)
    for name, tensor in (("q", call.q), ("k", call.k), ("v", call.v)):
        _check_memory(name, tensor)
    o, lse = empty_like(call.q), empty_lse(call.q)
    _launch(kernel, call, attention_call(_sizes(call, o), _addresses(call, o, lse)))
    return o, lse


def launch_fp8(call: AttentionArguments) -> tuple[Tensor, Tensor]:
    """Return the same of Q, K and V as PyTorch rounds them to E4M3. Raises likewise."""
    kernel = attention_kernel(call, FP8)
    o, lse = empty_like(call.q), empty_lse(call.q)
    given = operands(call.q, call.k, call.v)
    handed = fp8_call(call, given, o, lse)
    _launch(kernel, call, handed)
    return o, lse


def fp8_call(
    call: AttentionArguments, given: Mapping[str, Tensor], o: Tensor, lse: Tensor
) -> ctypes.Structure:
    """Return what the kernel is handed; ``given``: of ``fp8_blocks.operands``."""
    rounded = replace(call, q=given["q"], k=given["k"], v=given[COLUMNS])
    addresses = {name: tensor.data_ptr() for name, tensor in given.items()}
    return forward_call(_sizes(rounded, o), _addresses(rounded, o, lse) | addresses)


def backward_kernel(call: AttentionArguments) -> Kernel | None:
    """Return the loaded kernel for a call's gradients on its GPU, or None."""
    return find(_wanted(BACKWARD, call)) if call.q.is_cuda else None


def launch_backward(
    kernel: Kernel,
    call: AttentionArguments,
    grad: Tensor,
    grad_lse: Tensor,
    o: Tensor,
    lse: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by q, k and v of one launch on the current stream.

    ``grad`` and ``grad_lse`` are those of the forward pass's results ``o`` and ``lse``; a ``grad``
    that kernels cannot read, such as an expanded one, is copied first. Raises as
    ``launch_attention`` does.
    """
    for name, tensor in (("q", call.q), ("k", call.k), ("v", call.v), ("o", o)):
        _check_memory(name, tensor)
    if not _readable(grad):
        grad = empty_like(call.q).copy_(grad)
    lse, grad_lse = lse.contiguous(), grad_lse.contiguous()
    gradients = empty_like(call.q), empty_like(call.k), empty_like(call.v)
    named = dict(zip(("grad", "by_q", "by_k", "by_v"), (grad, *gradients), strict=True))
    handed = attention_backward_call(
        attention_call(_sizes(call, o), _addresses(call, o, lse)),
        {name: strides_of(each.shape, each.stride()) for name, each in named.items()},
        {name: each.data_ptr() for name, each in (*named.items(), ("grad_lse", grad_lse))},
    )
    _launch(kernel, call, handed)
    return gradients


def _launch(kernel: Kernel, call: AttentionArguments, handed: ctypes.Structure) -> None:
    launcher, device = _launcher(kernel), call.q.device
    with torch.cuda.device(device):
        size = launcher.workspace_bytes(handed)
        workspace = torch.empty(size, dtype=torch.uint8, device=device)
        stream = torch.cuda.current_stream(device).cuda_stream
        status = launcher.launch(handed, workspace.data_ptr(), size, stream)
    try:
        check_status(status, f"{kernel.id} with q {list(call.q.shape)}, k {list(call.k.shape)}")
    except Unsupported as error:
        raise ValueError(
            f"{error}; kernels/block_sparse_attention/README.md says which shapes fit"
        ) from error


def _aligned(tensor: Tensor) -> bool:
    """Return whether all rows begin at whole addresses."""
    steps = (step * tensor.element_size() for step in strides_of(tensor.shape, tensor.stride()))
    return not any(begin % ALIGNMENT for begin in (tensor.data_ptr(), *steps))


def _readable(tensor: Tensor) -> bool:
    """Return whether bulk copies can read it: rows at whole addresses, none of them repeated."""
    together = tensor.shape[3] == 1 or tensor.stride(3) == 1
    return together and _aligned(tensor) and all(strides_of(tensor.shape, tensor.stride()))


def _check_memory(name: str, tensor: Tensor) -> None:
    """Raise ValueError for what bulk copies cannot read."""
    if not _aligned(tensor):
        raise ValueError(
            f"{name} has rows that begin at addresses that are no multiples of {ALIGNMENT} bytes: "
            "torch.clone gives a copy that fits"
        )


def _sizes(call: AttentionArguments, o: Tensor) -> AttentionSizes:
    batches, heads, queries, _ = call.q.shape
    mask_batches, mask_heads = call.mask_shape
    return AttentionSizes(
        batches=batches,
        heads=heads,
        kv_heads=call.k.shape[1],
        queries=queries,
        keys=call.k.shape[2],
        scale=call.scale,
        strides={
            name: strides_of(tensor.shape, tensor.stride())
            for name, tensor in (("q", call.q), ("k", call.k), ("v", call.v), ("o", o))
        },
        full_pitch=0 if call.full is None else call.full.columns.shape[3],
        partial_pitch=0 if call.partial is None else call.partial.columns.shape[3],
        mask_batches=mask_batches,
        mask_heads=mask_heads,
        window_left=call.window_left,
        window_right=call.window_right,
    )


def _addresses(call: AttentionArguments, o: Tensor, lse: Tensor) -> dict[str, int | None]:
    """Return where each tensor lies; a list without places is none."""
    tensors: dict[str, Any] = {"q": call.q, "k": call.k, "v": call.v, "o": o, "lse": lse,
                               "partial_bits": call.bits, "order": call.order}  # fmt: skip
    for name, listed in (("full", call.full), ("partial", call.partial)):
        if listed is not None and listed.columns.numel():
            tensors |= {f"{name}_counts": listed.counts, f"{name}_columns": listed.columns}
    return {name: tensor.data_ptr() for name, tensor in tensors.items() if tensor is not None}
