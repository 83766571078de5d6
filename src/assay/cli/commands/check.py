"""``./assay check``: all that would fail later, said now, without a GPU."""

from assay.base.errors import BadInput, CheckFailed
from assay.catalog.load import check_project, load_catalog
from assay.catalog.model import Catalog
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.project_folder import ProjectOption, project_folder
from assay.pipeline.project_check import every_problem, project_remarks, told_problems
from assay.shared.counting import counted


def check(project: ProjectOption = None) -> None:
    """Say everything that is wrong with a project.

    A line each on standard output, remarks among them; their count ends it on standard error.
    """
    folder = project_folder(project)
    if folder is None:
        _tell_sound(load_catalog(checkout.ROOT))
        return
    checked = check_project(checkout.ROOT, folder)
    problems = every_problem(checked)
    for line in (*project_remarks(checked.catalog, folder), *told_problems(problems)):
        say(line)
    if problems:
        found = f"{folder}: {counted(len(problems), 'problem')}"
        raise BadInput(found) if checked.problems else CheckFailed(found)
    _tell_sound(checked.catalog)


def _tell_sound(catalog: Catalog) -> None:
    found = counted(len(catalog.claims), "claim")
    found += f" and {counted(len(catalog.audits), 'audit')}" if catalog.audits else ""
    say(f"{found} of {counted(len(catalog.sources), 'source')}: nothing wrong is seen here")
