"""``torch.ops.assay``: this project's kernels as PyTorch operators (docs/pytorch.md).

Importing this package defines the operators. On a CPU they compute a reference; on a GPU they call
the kernels that ``load`` was shown. It needs PyTorch and NumPy, and nothing else of Assay's own.
"""

import torch

from assay.ops.attention_mask import AttentionMask
from assay.ops.attention_operator import flex_block_sparse_attention
from assay.ops.kernel_set import Kernel, KernelSet, load, only
from assay.ops.reference import check_pattern

OPERATORS = {
    name: getattr(torch.ops.assay, name).default
    for name in (
        "bsr_gemm",
        "bsr_bsr_gemm",
        "bsr_gemm_transposed",
        "bsr_sampled",
        "block_sparse_attention",
        "block_sparse_attention_backward",
    )
}
"""Operators by name, as opcheck takes them."""

__all__ = [
    "OPERATORS",
    "AttentionMask",
    "Kernel",
    "KernelSet",
    "check_pattern",
    "flex_block_sparse_attention",
    "load",
    "only",
]
