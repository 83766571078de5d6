"""How many processes may share the GPU where nothing is timed, and what they owe to each other.

Each process has a CUDA context of its own. The GPU gives them slices of time in turn and shows none
the memory of another, so neighbours decide when a launch runs, and not what it computes; a launch
that hangs takes no more than its share. What they can take from each other is memory.
"""

import os
import re
from pathlib import Path

SIDE_BY_SIDE = 3
"""An arm of the gate takes about a second and leaves the GPU idle for half of it: while its process
starts, and while the host makes patterns and loops over the oracle. Two would fill those gaps if
theirs never met; three leave few. More would take memory and gain little."""
MPS_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
MPS_DIRECTORY = "/tmp/nvidia-mps"  # noqa: S108 - where CUDA itself looks
_NO_ROOM = re.compile(
    "out of memory"  # PyTorch, Triton and the text of cudaErrorMemoryAllocation
    "|OutOfMemory|MemoryAllocation|cudaError_t 2$|cusparseStatus_t 2$"
    "|_ALLOC_FAILED|_ALLOCATION_FAILED"  # cuBLAS and cuDNN
    "|STATUS_NOT_INITIALIZED"  # how they put it when their handle finds no memory
    "|busy or unavailable"  # a GPU that is set to take one process at a time
    "|allocate memory|MemoryError|died of SIGKILL",  # the host's memory, and its guard
    re.MULTILINE,
)


def width() -> int:
    """How many processes to let work side by side: SIDE_BY_SIDE, or 1 under CUDA's MPS.

    MPS puts all of them behind one server, where the illegal address of one ends the others.
    """
    pipes = Path(os.environ.get(MPS_VARIABLE) or MPS_DIRECTORY)
    return 1 if (pipes / "control").exists() else SIDE_BY_SIDE


def no_room(error: str) -> bool:
    """Whether this error is that of a process which neighbours may have left too little.

    A wrong result, an illegal address and a missed deadline are not among them: to run those again
    would give a kernel that fails now and then a second chance.
    """
    return _NO_ROOM.search(error) is not None
