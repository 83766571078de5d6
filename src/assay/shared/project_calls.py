"""A project's code: where the device side finds it, what it is called with, what it returns."""

import os
from pathlib import Path

VARIABLE = "ASSAY_PROJECT_CODE"
"""By which the host says in which folder a project's files lie."""
GIVEN = "device"
"""What a function is called with beside its parameters."""
RESERVED = ("inputs", "oracle", "output")
"""What it returns beside arms."""


def project_place() -> Path:
    """Return the folder; one that is nowhere where the host named none."""
    return Path(os.environ.get(VARIABLE) or "/nonexistent")
