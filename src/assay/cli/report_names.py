"""Reports that are named as their pages name them: by their run, wherever this checkout has it."""

import os
from pathlib import Path

from assay.cli import checkout
from assay.verification.report_archive import SUFFIX

HOMES = ("reports", "reports/published", "projects/*/reports", "projects/*/reports/published")
"""Where this checkout has reports: those it made, those it publishes, and those of its projects."""


def found_report(path: Path) -> Path:
    """Return where the report lies that is given by its name alone, as a directory or an archive.

    What is there by that path, and what no report here is called, stays as it is given.
    """
    if path.name != str(path) or os.path.lexists(path):
        return path
    root = checkout.ROOT
    places = (
        folder / name
        for home in HOMES
        for folder in sorted(root.glob(home))
        for name in (path.name, f"{path.name}{SUFFIX}")
    )
    place = next(filter(os.path.exists, places), path)
    here = Path.cwd()
    return place.relative_to(here) if place.is_relative_to(here) else place


def found_reports(paths: list[Path] | None) -> list[Path] | None:
    """Return where several reports lie, likewise."""
    return None if paths is None else [found_report(path) for path in paths]
