"""The repository that commands work in, and the run that its configuration asks for."""

import os

from assay.base.checkout_root import checkout_root
from assay.base.io import load_yaml
from assay.base.progress import command_here
from assay.records.plan import RunConfig

ROOT = checkout_root()


def command() -> str:
    """Return what people type here."""
    return command_here(os.environ)


def default_run() -> RunConfig:
    """Return what ``config/config.yaml`` asks for. Raises BadInput where it is not well-formed."""
    return load_yaml(RunConfig, ROOT / "config" / "config.yaml")
