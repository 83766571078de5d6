"""The repository that commands work in, and the run that its configuration asks for."""

import os
from typing import TYPE_CHECKING

from assay.base.checkout_root import checkout_root
from assay.base.progress import command_here

if TYPE_CHECKING:
    from assay.records.plan import RunConfig

ROOT = checkout_root()


def command() -> str:
    """Return what people type here."""
    return command_here(os.environ)


def default_run() -> "RunConfig":
    """Return what ``config/config.yaml`` asks for. Raises BadInput where it is not well-formed."""
    # ``--help`` needs no records, which take a tenth of a second.
    from assay.base.io import load_yaml  # noqa: PLC0415
    from assay.records.plan import RunConfig  # noqa: PLC0415

    return load_yaml(RunConfig, ROOT / "config" / "config.yaml")
