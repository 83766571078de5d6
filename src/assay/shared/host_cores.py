"""The host's processors that a device job keeps to, so that jobs on several GPUs share them out."""

import os
from collections.abc import Mapping
from contextlib import suppress

CORES_VARIABLE = "ASSAY_CORES"
"""Numbers of processors, comma-separated."""


def keep_to_cores(environment: Mapping[str, str]) -> None:
    """Keep this process, and what it starts, to the processors that it was given.

    A container may have others, or none of them: then it keeps those that it has.
    """
    given = {int(name) for name in environment.get(CORES_VARIABLE, "").split(",") if name.isdigit()}
    with suppress(OSError):
        if ours := given & os.sched_getaffinity(0):
            os.sched_setaffinity(0, ours)
