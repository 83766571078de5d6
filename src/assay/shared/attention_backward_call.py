"""The calling convention of our attention kernels' backward pass: the forward pass's structure, and
gradients.

``kernels/block_sparse_attention/attention_backward_call.cuh`` is its other half: same fields, same
order.
"""

import ctypes
from collections.abc import Mapping
from typing import Any, ClassVar

from assay.shared.attention_call import STEPS, AttentionCall, Strides, stride_fields

ABI = "block_sparse_attention_backward"
"""Of a variant whose launcher takes this structure."""
GRADIENTS = ("grad", "by_q", "by_k", "by_v")
"""What comes back for O, and the gradients by q, k and v."""


class AttentionBackwardCall(ctypes.Structure):
    """``AssayAttentionBackward`` of the kernels. Pointers are addresses on the GPU, or None."""

    _fields_: ClassVar[list[tuple[str, Any]]] = [
        ("forward", AttentionCall),
        *[(name, ctypes.c_void_p) for name in ("grad", "grad_lse", "by_q", "by_k", "by_v")],
        *[(f"{name}_{step}", ctypes.c_int64) for name in GRADIENTS for step in STEPS],
    ]


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
