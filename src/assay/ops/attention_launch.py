"""A launch of a compiled attention kernel: nothing is read back, planned or waited for."""

import functools
from typing import Any

import torch

from assay.ops.attention_arguments import (
    AttentionArguments,
    dtype_name,
    empty_like,
    empty_lse,
)
from assay.ops.checks import NoKernel, Tensor
from assay.ops.kernel_set import Call, find, missing
from assay.ops.launch import ALIGNMENT
from assay.shared.attention_call import (
    AttentionLauncher,
    AttentionSizes,
    attention_call,
    open_attention,
    strides_of,
)
from assay.shared.errors import Unsupported
from assay.shared.kernel_choice import Kernel
from assay.shared.launch_abi import check_status, checked_library
from assay.shared.specs import ArtifactSpec

OPERATION = "block_sparse_attention"


@functools.cache
def _launcher(kernel: Kernel) -> AttentionLauncher:
    """Return the C launcher; its library's digest is checked once."""
    artifact = ArtifactSpec(kernel.path, kernel.sha256)
    return open_attention(checked_library(artifact), kernel.symbol)


def attention_kernel(call: AttentionArguments) -> Kernel:
    """Return the loaded kernel for a call and its GPU. Raises NoKernel with one sentence."""
    wanted = Call(
        operation=OPERATION,
        dtype=dtype_name(call.q),
        block=(call.block, call.block),
        block_b=None,
        n=call.q.shape[3],
        blocks_per_row=None,
        capability=torch.cuda.get_device_capability(call.q.device),
        head_dim=call.q.shape[3],
    )
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
    launcher, handed = _launcher(kernel), attention_call(_sizes(call, o), _addresses(call, o, lse))
    device = call.q.device
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
    return o, lse


def _check_memory(name: str, tensor: Tensor) -> None:
    """Raise ValueError for what bulk copies cannot read."""
    steps = [step * tensor.element_size() for step in strides_of(tensor.shape, tensor.stride())]
    if tensor.data_ptr() % ALIGNMENT or any(step % ALIGNMENT for step in steps):
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
