"""``torch.ops.assay``: this project's kernels as PyTorch operators (docs/pytorch.md).

Importing this package defines the operators. On a CPU they compute a reference; on a GPU they call
the kernels that ``load`` was shown. It needs PyTorch and NumPy, and nothing else of Assay's own.
"""

from assay.ops.kernel_set import Kernel, KernelSet, load, only
from assay.ops.operators import OPERATORS
from assay.ops.reference import check_pattern

__all__ = ["OPERATORS", "Kernel", "KernelSet", "check_pattern", "load", "only"]
