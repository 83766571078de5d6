"""``./assay check``: all that would fail later, said now, without a GPU."""

from assay.base.errors import CheckFailed
from assay.base.yaml_problems import YamlProblems
from assay.catalog.load import check_project, load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import PROJECT_FILE
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.project_folder import ProjectOption, project_folder
from assay.pipeline.project_check import project_problems
from assay.shared.counting import counted


def check(project: ProjectOption = None) -> None:
    """Say everything that is wrong with a project."""
    folder = project_folder(project)
    if folder is None:
        _tell_sound(load_catalog(checkout.ROOT))
        return
    checked = check_project(checkout.ROOT, folder)
    whole = not checked.problems
    problems = sorted(project_problems(checked.catalog, folder, checked.own.lines, whole=whole))
    for problem in problems:
        say(str(problem))
    if checked.problems:
        raise YamlProblems(folder / PROJECT_FILE, checked.problems)
    if problems:
        raise CheckFailed(f"{counted(len(problems), 'problem')} found")
    _tell_sound(checked.catalog)


def _tell_sound(catalog: Catalog) -> None:
    found = counted(len(catalog.claims), "claim")
    found += f" and {counted(len(catalog.audits), 'audit')}" if catalog.audits else ""
    say(f"{found} of {counted(len(catalog.sources), 'source')}: nothing wrong is seen here")
