"""Where the host says that the files of a project lie, whose functions the device side calls."""

import os
from pathlib import Path

VARIABLE = "ASSAY_PROJECT_CODE"


def project_place() -> Path:
    """Return the folder; one that is nowhere where the host named none."""
    return Path(os.environ.get(VARIABLE) or "/nonexistent")
