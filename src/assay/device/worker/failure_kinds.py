"""From an exception, ours or a library's, to the kind of failure that it is."""

import errno
import re
import sys

from assay.shared.errors import FailureKind, KnownFailure
from assay.shared.launch_abi import OUT_OF_MEMORY

# What cuBLAS, cuDNN, Triton and the CUDA runtime say; PyTorch hands it on as a RuntimeError.
_NO_ROOM = re.compile(
    "out of memory"  # PyTorch, Triton and the text of cudaErrorMemoryAllocation
    "|cudaErrorMemoryAllocation"
    "|_ALLOC_FAILED|_ALLOCATION_FAILED"  # cuBLAS and cuDNN
    "|STATUS_NOT_INITIALIZED"  # how they put it when their handle finds no memory
    "|busy or unavailable"  # a GPU that is set to take one process at a time
    "|allocate memory"  # PyTorch, of the host's
)


def kind_of(error: BaseException) -> FailureKind:
    """Return the kind of an error: what it says of itself, else what its type or code means.

    A wrong result, an illegal address and a missed deadline are no want of room: what those come
    from would come again.
    """
    if isinstance(error, KnownFailure):
        return error.kind
    torch = sys.modules.get("torch")
    lacking: tuple[type[BaseException], ...] = (MemoryError,)
    if torch is not None:
        lacking += (torch.cuda.OutOfMemoryError,)
    if isinstance(error, lacking):
        return FailureKind.NO_ROOM
    if isinstance(error, OSError):
        return FailureKind.NO_ROOM if error.errno == errno.ENOMEM else FailureKind.FAILED
    if getattr(error, "error_code", None) == OUT_OF_MEMORY:  # torch.AcceleratorError
        return FailureKind.NO_ROOM
    if isinstance(error, RuntimeError) and _NO_ROOM.search(str(error)):
        return FailureKind.NO_ROOM
    return FailureKind.FAILED
