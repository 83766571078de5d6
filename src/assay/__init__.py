"""Assay: from a published GPU-kernel figure to a signed verdict.

report = assay.open_report("reports/published/RUN")
report.verdicts  # and .samples, .telemetry, .builds: pandas data frames
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_OFFERED = {"open_report": "assay.verification.open_report"}
"""What the package offers to people who compute, and where it is: loaded when it is asked for,
since half of what imports this package has no pandas, and none of it needs a signature."""


def __getattr__(name: str) -> Any:
    """Return what ``_OFFERED`` names. Raises AttributeError for anything else."""
    if name not in _OFFERED:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    return getattr(import_module(_OFFERED[name]), name)
