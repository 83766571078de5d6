"""Arguments of ``block_sparse_attention``, checked without a look at the lists' contents.

All of it holds for fake tensors too, so that torch.compile says the same sentences.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch

from assay.ops.checks import (
    NAMES,
    REFERENCE_ONLY,
    NotContiguous,
    Tensor,
    WrongIndexType,
    require_contiguous,
    require_one_device,
)
from assay.shared.attention_call import NO_BOUND, bounded
from assay.shared.counting import counted

WORD = 32
"""Scores that one word of ``partial_bits`` speaks of."""
VALUE_TYPES = (torch.float16, torch.bfloat16, *REFERENCE_ONLY)
WIDEST = 2**30
"""Of a window's side: kernels add it to a position, in 32 bits."""


@dataclass(frozen=True)
class SelectedBlocks:
    """Which blocks of scores each block row selects."""

    counts: Tensor
    """int32 [mask_batches, mask_heads, rows]."""
    columns: Tensor
    """int32 [mask_batches, mask_heads, rows, pitch]; those past a row's count are not used."""


@dataclass(frozen=True)
class AttentionArguments:
    """Everything that a call hands over; extents are integers, or symbols of torch.compile."""

    q: Tensor
    """[batches, heads, queries, head_dim], as are k and v with kv_heads and keys."""
    k: Tensor
    v: Tensor
    full: SelectedBlocks | None
    partial: SelectedBlocks | None
    bits: Tensor | None
    """int32 [mask_batches, mask_heads, rows, pitch, block, block / 32]."""
    order: Tensor | None
    """int32 [mask_batches, mask_heads, rows]."""
    block: int
    scale: float
    window_left: int
    window_right: int

    @property
    def lists(self) -> tuple[SelectedBlocks, ...]:
        """Return those lists that there are."""
        return tuple(found for found in (self.full, self.partial) if found is not None)

    @property
    def rows(self) -> Any:
        """Return the number of block rows."""
        return -(-self.q.shape[2] // self.block)

    @property
    def block_columns(self) -> Any:
        """Return the number of block columns."""
        return -(-self.k.shape[2] // self.block)

    @property
    def group(self) -> Any:
        """Return how many heads of queries read one head of keys."""
        return self.q.shape[1] // self.k.shape[1]

    @property
    def mask_shape(self) -> tuple[Any, Any]:
        """Return batches and heads that have lists of their own; 1 where all share one."""
        if not self.lists:
            return 1, 1
        shape = self.lists[0].counts.shape
        return shape[0], shape[1]


def check_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    full_counts: Tensor | None = None,
    full_columns: Tensor | None = None,
    partial_counts: Tensor | None = None,
    partial_columns: Tensor | None = None,
    partial_bits: Tensor | None = None,
    order: Tensor | None = None,
    block: int = 128,
    scale: float | None = None,
    window_left: int = NO_BOUND,
    window_right: int = NO_BOUND,
) -> AttentionArguments:
    """Return the arguments, checked; ``scale`` is 1 / sqrt(head_dim) where none is given.

    The defaults are those of the operator's schema, since PyTorch hands over no argument that has
    its default. Raises ValueError or TypeError with one sentence.
    """
    _check_values(q, k, v)
    if block < WORD or block % WORD:
        raise ValueError(f"block is {block}, which is no multiple of {WORD}")
    call = AttentionArguments(
        q, k, v,
        _list("full", full_counts, full_columns),
        _list("partial", partial_counts, partial_columns),
        partial_bits, order, block,
        1 / math.sqrt(q.shape[3]) if scale is None else scale,
        window_left, window_right,
    )  # fmt: skip
    if not 0 < call.scale < math.inf:
        raise ValueError(f"scale is {call.scale}, and must be positive")
    for side, bound in (("left", window_left), ("right", window_right)):
        if not NO_BOUND <= bound <= WIDEST:
            raise ValueError(f"window_{side} is {bound}, and must be from {NO_BOUND} to {WIDEST}")
    _check_lists(call)
    _check_bits(call)
    if order is not None:
        _check_int32("order", order, (*call.mask_shape, call.rows))
    given = {"q": q, "k": k, "v": v, "full_counts": full_counts, "full_columns": full_columns,
             "partial_counts": partial_counts, "partial_columns": partial_columns,
             "partial_bits": partial_bits, "order": order}  # fmt: skip
    require_one_device({name: tensor for name, tensor in given.items() if tensor is not None})
    return call


def _check_values(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() != 4:
            raise ValueError(
                f"{name} must be [batch, heads, length, head_dim]; it has "
                f"{counted(tensor.dim(), 'dimension')}"
            )
        if tensor.dtype != q.dtype:
            raise TypeError(f"q is {q.dtype}, {name} {tensor.dtype}: they must be alike")
        if tensor.shape[3] > 1 and tensor.stride(3) != 1:
            raise NotContiguous(
                f"{name} does not have its head_dim lie together (its last stride is "
                f"{tensor.stride(3)}); .contiguous() gives a copy that has"
            )
        if tensor.shape[3] != q.shape[3] or tensor.shape[0] != q.shape[0]:
            raise ValueError(
                f"q is {_shape(q)}, {name} {_shape(tensor)}: batch and head_dim must be alike"
            )
    if q.dtype not in VALUE_TYPES:
        raise TypeError(f"q is {q.dtype}, for which there is no attention here")
    if k.shape != v.shape:
        raise ValueError(f"k is {_shape(k)}, v {_shape(v)}: they must be alike")
    if k.shape[1] < 1 or q.shape[1] % k.shape[1]:
        raise ValueError(
            f"{counted(q.shape[1], 'head')} of queries cannot share "
            f"{counted(k.shape[1], 'head')} of keys evenly"
        )
    if min(q.shape) < 1 or min(k.shape) < 1:
        raise ValueError(f"q is {_shape(q)}, k {_shape(k)}: no extent may be 0")


def _list(name: str, counts: Tensor | None, columns: Tensor | None) -> SelectedBlocks | None:
    if (counts is None) != (columns is None):
        raise ValueError(f"{name}_counts and {name}_columns are given together or not at all")
    return None if counts is None else SelectedBlocks(counts, columns)


def _check_lists(call: AttentionArguments) -> None:
    for name, found in (("full", call.full), ("partial", call.partial)):
        if found is None:
            continue
        if found.columns.dim() != 4:
            raise ValueError(
                f"{name}_columns must be [mask batches, mask heads, block rows, pitch]; it has "
                f"{counted(found.columns.dim(), 'dimension')}"
            )
        shape = (*call.mask_shape, call.rows)
        _check_int32(f"{name}_counts", found.counts, shape)
        _check_int32(f"{name}_columns", found.columns, (*shape, found.columns.shape[3]))
        extents = zip(("batches", "heads"), call.mask_shape, call.q.shape[:2], strict=True)
        for what, masks, there in extents:
            if masks not in (1, there):
                raise ValueError(
                    f"{name}_counts is of {masks} {what}, q of {there}: a mask has one for all or "
                    "one for each"
                )


def _check_bits(call: AttentionArguments) -> None:
    if call.bits is None:
        return
    if call.partial is None:
        raise ValueError("partial_bits are given without partial blocks")
    if bounded(call.window_left, call.window_right):
        raise ValueError("partial_bits and a window are given: of partial blocks only one speaks")
    shape = (*call.partial.columns.shape, call.block, call.block // WORD)
    _check_int32("partial_bits", call.bits, shape)


def _check_int32(name: str, tensor: Tensor, shape: tuple[Any, ...]) -> None:
    if tensor.dtype != torch.int32:
        raise WrongIndexType(
            f"{name} is {tensor.dtype}; the kernels read torch.int32, which .int() gives"
        )
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} is {_shape(tensor)}, and should be {_extents(shape)}")
    require_contiguous(name, tensor)


def _shape(tensor: Tensor) -> str:
    return _extents(tuple(tensor.shape))


def _extents(shape: tuple[Any, ...]) -> str:
    return f"[{', '.join(str(extent) for extent in shape)}]"


def dtype_name(tensor: Tensor) -> str:
    """Return the element type as kernels are named for it."""
    return NAMES.get(tensor.dtype, str(tensor.dtype))


def sums_dtype(tensor: Tensor) -> Any:
    """Return the type that sums are taken in: float64 for float64, float32 for all others."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def empty_like(tensor: Tensor) -> Tensor:
    """Return an uninitialised tensor of the same shape without gaps, heads inside of the length
    where those of ``tensor`` are (BSHD), else outside (BHSD).
    """
    batches, heads, length, head_dim = tensor.shape
    if tensor.stride(1) < tensor.stride(2):
        return tensor.new_empty((batches, length, heads, head_dim)).transpose(1, 2)
    return tensor.new_empty((batches, heads, length, head_dim))


def empty_lse(q: Tensor) -> Tensor:
    """Return an uninitialised log-sum-exp [batches, heads, queries]."""
    return q.new_empty(q.shape[:3], dtype=sums_dtype(q))
