"""Where the checkout lies whose code this is, or what stands in its place where it is installed."""

import os
import sysconfig
from pathlib import Path

INSTALLED = Path("share") / "assay"
"""Of the tree that ``pip install`` puts into an environment (setup.py)."""
MARK = "Snakefile"
"""A file that a checkout has, and no folder of packages."""


def checkout_root() -> Path:
    """Return ``ASSAY_ROOT``, else the checkout this package stands in, else the installed tree."""
    if named := os.environ.get("ASSAY_ROOT"):
        return Path(named)
    here = Path(__file__).resolve().parents[3]
    return here if (here / MARK).is_file() else installed_root() or here


def installed_root() -> Path | None:
    """Return the tree of an installed package; None where there is none."""
    places = (sysconfig.get_path("data"), sysconfig.get_path("data", f"{os.name}_user"))
    found = (Path(place) / INSTALLED for place in places)
    return next((place for place in found if (place / MARK).is_file()), None)


def root_of(scripts: Path) -> Path:
    """Return the repository whose ``workflow/scripts`` that is."""
    return scripts.resolve().parents[1]
