"""The calling conventions of our attention kernels: structures, filled in here, read by C.

``attention_call.cuh``, ``attention_fp8_call.cuh`` and ``attention_backward_call.cuh`` of
``kernels/block_sparse_attention`` are their other half: same fields, same order.
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

ABI = "block_sparse_attention"
"""Of a variant whose launcher takes an AttentionCall."""
FP8_ABI = "block_sparse_attention_fp8"
"""Of one that takes an AttentionFp8Call."""
BACKWARD_ABI = "block_sparse_attention_backward"
"""Of one whose launcher takes an AttentionBackwardCall."""
SYMBOL = "assay_block_sparse_attention"
NO_BOUND = -1
"""A window's side that has none."""
TENSORS = ("q", "k", "v", "o")
SCALES = ("q_scale", "k_scale", "v_scale", "v_top")
"""Of FP8: float32, of each 128 tokens of a head; and the largest of V's of a head."""
COLUMNS = "v_columns"
"""V of FP8 as its kernel reads it."""
GRADIENTS = ("grad", "by_q", "by_k", "by_v")
"""What comes back for O, and the gradients by q, k and v."""
STEPS = ("batch", "head", "row")
"""Of which each tensor has a stride."""
LISTS = ("full_counts", "full_columns", "partial_counts", "partial_columns")
"""Lists of key blocks, int32: counts [mask_batches, mask_heads, rows], columns [..., pitch]."""

COUNTS = (
    "full_pitch", "partial_pitch", "mask_batches", "mask_heads", "batches", "heads", "kv_heads",
    "queries", "keys", "window_left", "window_right",
)  # fmt: skip
"""Whole numbers of a call, in the order of the structure."""

Strides = tuple[int, int, int]
"""Elements from one batch, head and row to the next; elements of a row are neighbours."""


def bounded(left: int, right: int) -> bool:
    """Return whether a window with these two bounds hides anything."""
    return left != NO_BOUND or right != NO_BOUND


def strides_of(shape: Sequence[int], steps: Sequence[int]) -> Strides:
    """Return the strides of a tensor [batches, heads, rows, head_dim] as kernels take them: of an
    extent of 1, which has no next, as far as all of the tensor.
    """
    extents, known = shape[:3], steps[:3]
    reach = max(extent * step for extent, step in zip(extents, known, strict=True))
    batch, head, row = (
        max(reach, shape[3]) if extent == 1 else step
        for extent, step in zip(extents, known, strict=True)
    )
    return batch, head, row


class AttentionCall(ctypes.Structure):
    """``AssayAttention`` of the kernels. Pointers are addresses on the GPU, or None."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        *[(name, ctypes.c_void_p) for name in (*TENSORS, "lse")],
        *[(f"{name}_{step}", ctypes.c_int64) for name in TENSORS for step in STEPS],
        *[(name, ctypes.c_void_p) for name in (*LISTS, "partial_bits", "order")],
        *[(name, ctypes.c_int) for name in COUNTS],
        ("scale", ctypes.c_float),
    ]


class AttentionFp8Call(ctypes.Structure):
    """``AssayAttentionFp8`` of the kernels. Pointers are addresses on the GPU."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        ("call", AttentionCall),
        *[(name, ctypes.c_void_p) for name in SCALES],
    ]


class AttentionBackwardCall(ctypes.Structure):
    """``AssayAttentionBackward`` of the kernels. Pointers are addresses on the GPU, or None."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        ("forward", AttentionCall),
        *[(name, ctypes.c_void_p) for name in ("grad", "grad_lse", "by_q", "by_k", "by_v")],
        *[(f"{name}_{step}", ctypes.c_int64) for name in GRADIENTS for step in STEPS],
    ]


STRUCTURES: Mapping[str, type[ctypes.Structure]] = {
    ABI: AttentionCall, FP8_ABI: AttentionFp8Call, BACKWARD_ABI: AttentionBackwardCall,
}  # fmt: skip
"""What a launcher of each ABI takes."""


@dataclass(frozen=True)
class AttentionSizes:
    """All of a call that is no address. Plain numbers, so that it can be written as JSON."""

    batches: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    scale: float
    """Factor on the scores; usually 1 / sqrt(head_dim)."""
    strides: Mapping[str, Strides]
    full_pitch: int
    """Columns that a row of the list has room for; 0 without full blocks."""
    partial_pitch: int
    mask_batches: int = 1
    """1, or as many as there are; so are heads."""
    mask_heads: int = 1
    window_left: int = NO_BOUND
    """In partial blocks key j counts for query i where -left <= j - (i + keys - queries) <= right;
    without meaning where bits say it."""
    window_right: int = NO_BOUND


def stride_fields(names: Sequence[str], strides: Mapping[str, Strides]) -> dict[str, int]:
    """Return the strides of some tensors as fields of a structure. Raises KeyError for one that has
    none.
    """
    return {
        f"{name}_{step}": stride
        for name in names
        for step, stride in zip(STEPS, strides[name], strict=True)
    }


def attention_call(sizes: AttentionSizes, addresses: Mapping[str, int | None]) -> AttentionCall:
    """Return the structure. ``addresses``: of TENSORS, and of ``lse``, LISTS, ``partial_bits`` and
    ``order`` where there are such. Raises KeyError for a tensor without address or strides.
    """
    optional = {name: addresses.get(name) for name in ("lse", *LISTS, "partial_bits", "order")}
    return AttentionCall(
        **{name: addresses[name] for name in TENSORS},
        **optional,
        **stride_fields(TENSORS, sizes.strides),
        **{name: getattr(sizes, name) for name in (*COUNTS, "scale")},
    )


def forward_call(sizes: AttentionSizes, addresses: Mapping[str, int | None]) -> ctypes.Structure:
    """Return the structure of a forward pass: of FP8, where V has an address by columns.

    ``addresses``: as ``attention_call`` takes them; of FP8, of SCALES and COLUMNS, too. Raises
    KeyError where one is missing.
    """
    if COLUMNS not in addresses:
        return attention_call(sizes, addresses)
    call = attention_call(sizes, {**addresses, "v": addresses[COLUMNS]})
    return AttentionFp8Call(call=call, **{name: addresses[name] for name in SCALES})


def attention_backward_call(
    forward: AttentionCall, strides: Mapping[str, Strides], addresses: Mapping[str, int | None]
) -> AttentionBackwardCall:
    """Return the structure. ``forward``: as the forward pass had it, with O and log-sum-exp;
    ``strides``: of GRADIENTS; ``addresses``: of these, and of ``grad_lse`` where there is one.
    Raises KeyError for a tensor without address or strides.
    """
    return AttentionBackwardCall(
        forward=forward,
        grad_lse=addresses.get("grad_lse"),
        **{name: addresses[name] for name in GRADIENTS},
        **stride_fields(GRADIENTS, strides),
    )


@dataclass(frozen=True)
class AttentionLauncher:
    """The two functions of one compiled kernel."""

    _launch: Callable[..., int]
    _workspace: Callable[..., int]

    def workspace_bytes(self, call: ctypes.Structure) -> int:
        """Return the scratch memory that a launch needs."""
        return int(self._workspace(ctypes.byref(call)))

    def launch(
        self, call: ctypes.Structure, workspace: int, workspace_bytes: int, stream: int
    ) -> int:
        """Enqueue one launch; return its cudaError_t."""
        return int(self._launch(ctypes.byref(call), workspace, workspace_bytes, stream))


def open_attention(
    path: Path, symbol: str = SYMBOL, structure: type[ctypes.Structure] = AttentionCall
) -> AttentionLauncher:
    """Return the launcher of a library, whose functions take ``structure``. Raises OSError or
    AttributeError where it has none.

    Whether the file is the one that was meant is for the caller to know.
    """
    library = ctypes.CDLL(str(path))
    launch, workspace = getattr(library, symbol), getattr(library, f"{symbol}_workspace")
    call = ctypes.POINTER(structure)
    launch.argtypes = [call, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    launch.restype = ctypes.c_int
    workspace.argtypes = [call]
    workspace.restype = ctypes.c_size_t
    return AttentionLauncher(launch, workspace)
