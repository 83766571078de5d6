"""``./assay check``: say what is wrong with a project or with its figures."""

from collections.abc import Sequence
from pathlib import Path

from assay.base.errors import BadInput, CheckFailed
from assay.base.yaml_problems import PlacedYaml, first_told, read_placed_yaml
from assay.catalog.load import OWN_CLAIMS, check_project, load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import PROJECT_FILE
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.options import ProjectOption, from_here, project_folder
from assay.pipeline.project_check import (
    ProjectProblem,
    every_problem,
    impossible_problems,
)
from assay.shared.counting import counted


def check(project: ProjectOption = None) -> None:
    """Say what is wrong with a project or with its figures.

    Each finding is a line on standard output; their number goes to standard error.
    """
    folder = project_folder(project)
    if folder is None:
        _tell_sources(load_catalog(checkout.ROOT))
        return
    checked = check_project(checkout.ROOT, folder)
    problems, lines = every_problem(checkout.ROOT, checked), checked.own.lines
    figures = impossible_problems(checked.catalog, lambda of: (PROJECT_FILE, lines.get(of, 1)))
    told = first_told(problems)
    for line in (*told, *figures):
        say(str(line))
    if problems:
        found = f"{folder}: {counted(len(problems), 'problem')}"
        if checked.catalog.project is None:
            found += "; once mended, more may show"
        raise BadInput(found) if checked.problems else CheckFailed(found)
    _tell_sound(checked.catalog, figures, str(folder))


def _tell_sources(catalog: Catalog) -> None:
    read: dict[str, PlacedYaml] = {}
    folder = from_here(checkout.ROOT / OWN_CLAIMS)

    def place(of: str) -> tuple[str, int]:
        file = str(folder / f"{catalog.source_of[of]}.yaml")
        if file not in read:
            read[file] = read_placed_yaml(Path(file))
        part = "audits" if of in catalog.audits else "claims"
        entries = [each["id"] for each in read[file].value[part]]
        return file, read[file].places.line((part, entries.index(of)))

    figures = impossible_problems(catalog, place)
    for line in figures:
        say(str(line))
    _tell_sound(catalog, figures, str(folder))


def _tell_sound(catalog: Catalog, figures: Sequence[ProjectProblem], where: str) -> None:
    """Say that all can be judged. Raises CheckFailed where a figure cannot be right."""
    if figures:
        number = counted(len(figures), "figure")
        raise CheckFailed(f"{where}: {number} that cannot be right; reproduce judges all the same")
    found = counted(len(catalog.claims), "claim")
    found += f" and {counted(len(catalog.audits), 'audit')}" if catalog.audits else ""
    say(f"{found} of {counted(len(catalog.sources), 'source')}: nothing wrong is seen here")
