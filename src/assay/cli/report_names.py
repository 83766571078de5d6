"""Reports that are named as their pages name them: by their run, wherever this checkout has it, or
the project whose folder a command is typed in.
"""

import os
from itertools import chain
from pathlib import Path

from assay.catalog.project_folder import PROJECT_FILE
from assay.cli import checkout
from assay.verification.report_archive import SUFFIX

HOMES = ("reports", "reports/published", "projects/*/reports", "projects/*/reports/published")
"""Where this checkout has reports: those it made, those it publishes, and those of its projects."""
OF_PROJECT = ("reports", "reports/published")
"""Where a project has its own: they come first in its folder."""


def found_report(path: Path) -> Path:
    """Return where the report lies that is given by its name alone, as a directory or an archive.

    What is there by that path, and what no report here is called, stays as it is given.
    """
    if path.name != str(path) or os.path.lexists(path):
        return path
    here, root = Path.cwd(), checkout.ROOT
    own = [here / home for home in OF_PROJECT if (here / PROJECT_FILE).is_file()]
    ours = (folder for home in HOMES for folder in sorted(root.glob(home)))
    names = (path.name, f"{path.name}{SUFFIX}")
    places = (folder / name for folder in chain(own, ours) for name in names)
    place = next(filter(os.path.exists, places), path)
    return place.relative_to(here) if place.is_relative_to(here) else place


def found_reports(paths: list[Path] | None) -> list[Path] | None:
    """Return where several reports lie, likewise."""
    return None if paths is None else [found_report(path) for path in paths]
