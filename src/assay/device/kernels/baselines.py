"""Baselines: libraries called on the same inputs, each prepared once, outside the timing."""

import importlib
from collections.abc import Callable
from typing import Any

import torch

from assay.device.kernels.cusparse import prepare_cusparse
from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared
from assay.shared.errors import RivalMissing, Unsupported
from assay.shared.stored_blocks import Blocks

FLEX_TILE = 128
"""Largest tile FlexAttention picks by itself; smaller sparse blocks need it told."""

_NO_BACKEND = ("No available kernel", "No viable backend")
_NO_FP8 = ("only supported on", "is not implemented for", "Could not run 'aten::_scaled_mm")


def lacks_backend(error: Exception) -> bool:
    """Return whether PyTorch says that the one backend left to it does not take a problem.

    It raises a plain RuntimeError for that, so the text is all there is; the same goes for FP8.
    """
    return any(words in str(error) for words in _NO_BACKEND)


def lacks_fp8(error: Exception) -> bool:
    """Return whether PyTorch says that this device or build multiplies no FP8."""
    return any(words in str(error) for words in _NO_FP8)


def _full_precision_sums() -> None:
    """Keep cuBLAS from adding split-K parts in fp16, which no other arm does."""
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


def _cublas_dense(inputs: Inputs) -> Prepared:
    """torch.mm into a fixed buffer."""
    _full_precision_sums()
    a, b, out = inputs.tensors["a"], inputs.tensors["b"], inputs.new_output()
    return Prepared(lambda: torch.mm(a, b, out=out), out)


def _scaled_mm(inputs: Inputs) -> Prepared:
    """torch._scaled_mm, FP8 in and bfloat16 out, both scales 1, fast sums, into a fixed buffer.

    Fast sums stay in the tensor cores' own accumulators, which keep fewer bits than fp32; slow ones
    are moved to fp32 registers now and then. The fast way is the rival's best, and ours as well.
    """
    w = inputs.workload
    if w.dtype != "float8_e4m3":
        raise Unsupported("torch._scaled_mm is here for float8_e4m3 workloads only")
    if w.n % 16 or w.k % 16:
        raise Unsupported("torch._scaled_mm needs n and k to be multiples of 16")
    a, b, out = inputs.tensors["a"], inputs.tensors["b"], inputs.new_output()
    one = torch.ones((), dtype=torch.float32, device=inputs.device)

    def launch() -> Tensor:
        try:
            return torch._scaled_mm(
                a, b, one, one, out_dtype=out.dtype, use_fast_accum=True, out=out
            )
        except (RuntimeError, NotImplementedError) as error:
            if lacks_fp8(error):
                raise Unsupported(f"torch._scaled_mm: {_first_line(error)}") from error
            raise

    return Prepared(launch, out)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _torch_bmm(inputs: Inputs) -> Prepared:
    """One batched product for all groups."""
    _full_precision_sums()
    a, b, out = inputs.tensors["a"], inputs.tensors["b"], inputs.new_output()
    return Prepared(lambda: torch.bmm(a, b, out=out), out)


def _torch_bsr(inputs: Inputs) -> Prepared:
    """PyTorch's Triton kernel for BSR @ dense, into a fixed buffer."""
    t, w = inputs.tensors, inputs.workload
    matrix = torch.sparse_bsr_tensor(
        t["a_row_ptr"], t["a_col_idx"], t["a_values"], size=(w.m, w.k), check_invariants=False
    )
    if matrix.values().data_ptr() != t["a_values"].data_ptr():
        raise RuntimeError("torch.sparse_bsr_tensor copied its values: they can't be refreshed")
    product = getattr(importlib.import_module("torch.sparse._triton_ops"), "bsr_dense_mm", None)
    if product is None:
        # Without Triton the operator still works, in memory of its own.
        return Prepared(lambda: matrix @ t["b"], None)
    out = inputs.new_output()
    bsr_dense_mm: Callable[..., Tensor] = product

    def launch() -> Tensor:
        try:
            return bsr_dense_mm(matrix, t["b"], out=out)
        except ValueError as error:  # its checks of block size and shape
            raise Unsupported(f"bsr_dense_mm: {error}") from error

    return Prepared(launch, out)


def _sdpa(backend: str) -> Callable[[Inputs], Prepared]:
    """Scaled dot product attention by one named backend of PyTorch."""

    def prepare(inputs: Inputs) -> Prepared:
        attention = importlib.import_module("torch.nn.attention")
        chosen = getattr(attention.SDPBackend, backend)
        q, k, v = (inputs.tensors[name] for name in ("q", "k", "v"))
        causal = inputs.workload.causal

        def launch() -> Tensor:
            with attention.sdpa_kernel(chosen):
                try:
                    return torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=causal
                    )
                except RuntimeError as error:
                    if lacks_backend(error):
                        raise Unsupported(f"{backend} takes no such problem here") from error
                    raise

        return Prepared(launch, None)

    return prepare


def flex_block_lists(blocks: Blocks, device: str) -> tuple[Tensor, Tensor]:
    """Return counts [1,1,rows] and indices [1,1,rows,cols] of a pattern; unused places hold 0."""
    lengths = torch.from_numpy(blocks.row_ptr[1:] - blocks.row_ptr[:-1])
    indices = torch.zeros(blocks.grid_rows, blocks.grid_cols, dtype=torch.int32)
    for row, begin, end in blocks.rows():
        indices[row, : end - begin] = torch.from_numpy(blocks.col_idx[begin:end])
    counts = lengths.to(torch.int32)
    return counts[None, None].to(device), indices[None, None].to(device)


def _flex_options(blocks: Blocks) -> dict[str, Any] | None:
    """Tile sizes that divide the sparse blocks, where FlexAttention's own choice would not."""
    if blocks.block_rows % FLEX_TILE == 0 and blocks.block_cols % FLEX_TILE == 0:
        return None
    return {
        "BLOCK_M": min(blocks.block_rows, FLEX_TILE),
        "BLOCK_N": min(blocks.block_cols, FLEX_TILE),
    }


def _flex_attention(inputs: Inputs) -> Prepared:
    """Compiled FlexAttention; every selected block is a full block, so no mask code runs."""
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    blocks = inputs.blocks
    if blocks is None:
        raise Unsupported("flex_attention is here for block-sparse workloads only")
    w = inputs.workload
    if w.seq_q % blocks.block_rows or w.seq_kv % blocks.block_cols:
        raise Unsupported("full blocks only: the sequence must be a whole number of blocks")
    counts, indices = flex_block_lists(blocks, inputs.device)
    mask = flex.BlockMask.from_kv_blocks(
        torch.zeros_like(counts),
        torch.zeros_like(indices),
        counts,
        indices,
        BLOCK_SIZE=(blocks.block_rows, blocks.block_cols),
        seq_lengths=(w.seq_q, w.seq_kv),
    )
    compiled = torch.compile(flex.flex_attention, dynamic=False, fullgraph=True)
    options = _flex_options(blocks)
    q, k, v = (inputs.tensors[name] for name in ("q", "k", "v"))

    def launch() -> Tensor:
        # Outside inference, autograd would have the kernel write what a backward pass needs.
        with torch.no_grad():
            return compiled(q, k, v, block_mask=mask, kernel_options=options)

    return Prepared(launch, None)


def _fa3(inputs: Inputs) -> Prepared:
    """FlashAttention-3's forward pass, where its wheel is installed.

    It takes [B, S, H, D]; the inputs are handed to it as views, for it wants the last stride alone
    to be 1.
    """
    module = "fa3_fwd_interface"
    try:
        library = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise RivalMissing(f"{module} cannot be imported here: {error}") from error
    if inputs.workload.dtype != "bfloat16":
        raise Unsupported("this build of FlashAttention-3 has bfloat16 kernels only")
    q, k, v = (inputs.tensors[name].transpose(1, 2) for name in ("q", "k", "v"))

    def launch() -> Tensor:
        output: Tensor = library.flash_attn_func(q, k, v, causal=inputs.workload.causal)
        return output.transpose(1, 2)

    return Prepared(launch, None)


PREPARE: dict[str, Callable[[Inputs], Prepared]] = {
    "cublas_dense": _cublas_dense,
    "scaled_mm": _scaled_mm,
    "torch_bmm": _torch_bmm,
    "torch_bsr": _torch_bsr,
    "cusparse_bsr": prepare_cusparse,
    "sdpa_flash": _sdpa("FLASH_ATTENTION"),
    "sdpa_efficient": _sdpa("EFFICIENT_ATTENTION"),
    "sdpa_cudnn": _sdpa("CUDNN_ATTENTION"),
    "sdpa_math": _sdpa("MATH"),
    "flex_attention": _flex_attention,
    "fa3": _fa3,
}
"""Variant.entry to the function that prepares it."""


def prepare_library(entry: str | None, inputs: Inputs) -> Prepared:
    """Prepare a baseline by name. Raises RuntimeError for a name that isn't here."""
    if entry not in PREPARE:
        raise RuntimeError(f"there is no baseline '{entry}'; there are {', '.join(PREPARE)}")
    return PREPARE[entry](inputs)
