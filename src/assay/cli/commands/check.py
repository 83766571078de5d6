"""``./assay check``: all that would fail later, said now, without a GPU."""

from assay.base.errors import CheckFailed
from assay.catalog.load import check_project, load_catalog
from assay.catalog.model import Catalog
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.project_folder import ProjectOption, project_folder
from assay.pipeline.project_check import ProjectProblems, every_problem, project_remarks
from assay.shared.counting import counted


def check(project: ProjectOption = None) -> None:
    """Say everything that is wrong with a project."""
    folder = project_folder(project)
    if folder is None:
        _tell_sound(load_catalog(checkout.ROOT))
        return
    checked = check_project(checkout.ROOT, folder)
    problems = every_problem(checked)
    for remark in project_remarks(checked.catalog, folder):
        say(remark)
    if checked.problems:
        raise ProjectProblems(folder, problems)
    for problem in problems:
        say(str(problem))
    if problems:
        raise CheckFailed(f"{counted(len(problems), 'problem')} found")
    _tell_sound(checked.catalog)


def _tell_sound(catalog: Catalog) -> None:
    found = counted(len(catalog.claims), "claim")
    found += f" and {counted(len(catalog.audits), 'audit')}" if catalog.audits else ""
    say(f"{found} of {counted(len(catalog.sources), 'source')}: nothing wrong is seen here")
