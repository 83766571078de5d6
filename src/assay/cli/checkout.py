"""The repository that commands work in, and the run that its configuration asks for."""

import os
from pathlib import Path

from assay.base.io import load_yaml
from assay.records.plan import RunConfig

ROOT = Path(os.environ.get("ASSAY_ROOT", Path(__file__).resolve().parents[3]))


def default_run() -> RunConfig:
    """Return what ``config/config.yaml`` asks for. Raises BadInput where it is not well-formed."""
    return load_yaml(RunConfig, ROOT / "config" / "config.yaml")
