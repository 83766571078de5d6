"""The repository that commands work in, and the run that its configuration asks for."""

from assay.base.checkout_root import checkout_root
from assay.base.io import load_yaml
from assay.records.plan import RunConfig

ROOT = checkout_root()
COMMAND = "./assay" if (ROOT / "assay").is_file() else "assay"
"""What people type: of an installed package its entry point."""


def default_run() -> RunConfig:
    """Return what ``config/config.yaml`` asks for. Raises BadInput where it is not well-formed."""
    return load_yaml(RunConfig, ROOT / "config" / "config.yaml")
