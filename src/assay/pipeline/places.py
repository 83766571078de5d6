"""Where a run lies: results/NAME and reports/NAME of this repository, or of a project.

A project's run is made by the workflow of this repository, which is started here; what it writes
goes by paths that are relative to the repository for its own runs and absolute for a project's.
"""

from pathlib import Path

from assay.base.errors import BadInput
from assay.records.plan import Request

RESULTS, REPORTS = "results", "reports"
VERIFIED = "verified.txt"
"""Of a run: what was found when its report was verified."""


def home_of(root: Path, request: Request) -> Path:
    """Return the folder in which a run lies."""
    return root if request.home is None else Path(request.home)


def run_dir(root: Path, request: Request) -> Path:
    """Return where a run keeps its records."""
    return root / run_path(request)


def report_dir(root: Path, request: Request) -> Path:
    """Return where its report will be."""
    return root / report_path(request)


def run_path(request: Request) -> str:
    """Return results/NAME as the workflow names it, from the repository's root."""
    return _below(request, RESULTS)


def report_path(request: Request) -> str:
    """Return reports/NAME as the workflow names it."""
    return _below(request, REPORTS)


def workflow_dir(root: Path, request: Request) -> Path:
    """Return where Snakemake works and keeps its own state: the repository, or a project's results.

    A project's files have absolute names, and nothing of its run lands in the repository.
    """
    return root if request.home is None else Path(request.home) / RESULTS


def foreign_place(home: Path, *run: str) -> str | None:
    """Return what is wrong where ``results`` or ``reports`` of ``home`` leads out of it; None where
    neither does. ``run``: a run whose folders in them are looked at, too.
    """
    for place in (home / RESULTS, home / REPORTS):
        for path in (place, *(place / name for name in run)):
            if path.is_symlink() or not path.resolve().is_relative_to(home.resolve()):
                return f"{path}: is a link, and runs are kept in folders of {home} itself"
    return None


def require_own_places(home: Path, *run: str) -> None:
    """Raise BadInput where a run would be written elsewhere than below ``home``."""
    if (problem := foreign_place(home, *run)) is not None:
        raise BadInput(f"{problem}: make it a folder")


def home_of_run(run_dir: Path) -> Path:
    """Return the folder in which the run lies whose records are in ``run_dir``."""
    return run_dir.parent.parent


def _below(request: Request, folder: str) -> str:
    place = f"{folder}/{request.run}"
    return place if request.home is None else f"{request.home}/{place}"
