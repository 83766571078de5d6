"""``torch.ops.assay``: this project's kernels as PyTorch operators (docs/pytorch.md).

Importing this package defines the operators. On a CPU they compute a reference; on a GPU they call
the kernels that ``load`` was shown. It needs PyTorch and NumPy, and nothing else of Assay's own.
"""

from assay.ops import attention_operator, operators  # noqa: F401 - they define the operators
from assay.ops.attention_mask import AttentionMask
from assay.ops.definition import OPERATORS
from assay.ops.flex import flex_block_sparse_attention
from assay.ops.kernel_set import KernelSet, load, only
from assay.ops.reference import check_pattern
from assay.shared.kernel_choice import Kernel

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
