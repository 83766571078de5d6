"""Reports that are named as their pages name them: by their run, wherever this checkout has it, or
the project whose folder a command is typed in.
"""

import os
from collections.abc import Iterator
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
    if os.path.lexists(path) or path.name != str(path):
        return path
    names = (path.name, f"{path.name}{SUFFIX}")
    for place in (folder / name for folder in _folders() for name in names):
        if os.path.exists(place):  # noqa: PTH110 - Path.exists raises for too long a name
            return from_here(place)
    return path


def _folders() -> Iterator[Path]:
    """Yield the folders that hold reports, in the order in which they are looked into."""
    here = Path.cwd()
    if (here / PROJECT_FILE).is_file():
        yield from (here / home for home in OF_PROJECT)
    for home in HOMES:
        yield from sorted(checkout.ROOT.glob(home))


def from_here(place: Path) -> Path:
    """Return a path as it is typed in the current directory."""
    here = Path.cwd()
    return place.relative_to(here) if place.is_relative_to(here) else place


def found_reports(paths: list[Path] | None) -> list[Path] | None:
    """Return where several reports lie, likewise."""
    return None if paths is None else [found_report(path) for path in paths]
