"""The number of processes that share the GPU where nothing is timed, and their duties.

Each process has a CUDA context of its own. The GPU gives them slices of time in turn and shows none
the memory of another, so neighbours decide when a launch runs, and not what it computes; a launch
that hangs takes no more than its share. What they can take from each other is memory.
"""

import os
from pathlib import Path

from assay.shared.errors import FailureKind

SIDE_BY_SIDE = 3
"""An arm of the gate takes about a second and leaves the GPU idle for half of it: while its process
starts, and while the host makes patterns and loops over the oracle. Two would fill those gaps if
theirs never met; three leave few. More would take memory and gain little."""
MPS_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
MPS_DIRECTORY = "/tmp/nvidia-mps"  # noqa: S108 - where CUDA itself looks
WANT_OF_ROOM = {FailureKind.NO_ROOM, FailureKind.NO_CONTEXT, FailureKind.KILLED}
"""Failures of a process which neighbours may have left too little; the host's guard kills."""


def width() -> int:
    """Return how many processes to let work side by side: SIDE_BY_SIDE, or 1 under CUDA's MPS.

    MPS puts all of them behind one server, where the illegal address of one ends the others.
    """
    pipes = Path(os.environ.get(MPS_VARIABLE) or MPS_DIRECTORY)
    return 1 if (pipes / "control").exists() else SIDE_BY_SIDE
