"""Where the checkout lies whose code this is."""

import os
from pathlib import Path


def checkout_root() -> Path:
    """Return the repository's root: ``ASSAY_ROOT``, or where this package stands in it."""
    return Path(os.environ.get("ASSAY_ROOT", Path(__file__).resolve().parents[3]))


def root_of(scripts: Path) -> Path:
    """Return the repository whose ``workflow/scripts`` that is."""
    return scripts.resolve().parents[1]
