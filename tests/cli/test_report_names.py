"""A report is named as its page names it."""

from pathlib import Path

import pytest

from assay.cli.given_reports import name_of


@pytest.mark.parametrize(
    ("path", "run", "project", "name"),
    [
        ("a/reports/local", "local", "My kernels", "local (My kernels)"),
        ("reports/local", "local", None, "local"),
        ("a/reports/first", "first", "My kernels", "first"),
        ("copy", "local", "My kernels", "copy (run local)"),
    ],
)
def test_a_projects_report_that_nobody_named_has_the_projects_title(path, run, project, name):
    assert name_of(Path(path), run, project) == name
