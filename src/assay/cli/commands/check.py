"""``./assay check``: all that would fail later, said now, without a GPU."""

from assay.base.errors import CheckFailed
from assay.catalog.load import load_catalog
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.project_folder import ProjectOption, project_folder
from assay.pipeline.project_check import project_problems
from assay.shared.counting import counted


def check(project: ProjectOption = None) -> None:
    """Say everything that is wrong with a project."""
    folder = project_folder(project)
    catalog = load_catalog(checkout.ROOT, folder)
    problems = list(project_problems(catalog, folder or checkout.ROOT))
    for problem in problems:
        say(problem)
    if problems:
        raise CheckFailed(f"{counted(len(problems), 'problem')} found")
    found = counted(len(catalog.claims), "claim")
    found += f" and {counted(len(catalog.audits), 'audit')}" if catalog.audits else ""
    say(f"{found} of {counted(len(catalog.sources), 'source')}: nothing wrong is seen here")
